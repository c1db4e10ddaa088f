"""The audit of a folder of pages: one of each page, and a list of what to do, worst first.

For each page of the folder, the output has ``PAGE.html``, its audit, and ``PAGE.jsonl``, the
records of its verdicts; ``index.html`` and ``worklist.jsonl`` have the statements of all pages. A
page is done once its records exist: an interrupted run resumes with the next page, and is refused
if a setting or the knowledge base has changed since.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from admiral.citations.audit_page import STYLE, anchor, audit_page, write_page
from admiral.citations.citer import Citer, urgency
from admiral.citations.extract import ReadPage
from admiral.citations.verdict_file import verdict_record
from admiral.errors import AdmiralError
from admiral.io.rendering import page_head, page_template
from admiral.io.result_writer import check_settings, write_settings
from admiral.storage.atomic_files import encode_record, write_atomically

#: Names of the files about all pages.
INDEX, RECORDS = "index.html", "worklist.jsonl"
_SETTINGS = "settings.json"


def page_files(folder: Path, out: Path) -> dict[Path, Path]:
    """Return the files of a folder by name, hidden ones left out, with their records in `out`."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise AdmiralError(f"{folder}: cannot be read: {error.strerror}. Check --pages") from error
    paths = [path for path in paths if not path.name.startswith(".")]
    if not paths:
        raise AdmiralError(f"{folder}: holds no files. Put pages of wikitext or HTML into it")
    stems = Counter([path.stem for path in paths] + [Path(n).stem for n in (INDEX, RECORDS)])
    names = ((path, path.stem if stems[path.stem] == 1 else path.name) for path in paths)
    return {path: out / f"{name}.jsonl" for path, name in names}


def start_work_list(out: Path, settings: Mapping[str, Any]) -> None:
    """Begin a work list, or raise `AdmiralError` if the folder holds one of other settings.

    `settings`: everything that decides the verdicts, as JSON values.
    """
    own = json.loads(json.dumps(settings))
    if (out / _SETTINGS).exists():
        check_settings(out, out / _SETTINGS, own)
    elif out.exists() and any(out.iterdir()):
        raise AdmiralError(f"{out}: is not empty and holds no work list. Give another --output")
    else:
        out.mkdir(parents=True, exist_ok=True)
        write_settings(out / _SETTINGS, own)


def audit_folder(
    pages: Mapping[Path, Path],
    read: Callable[[Path], ReadPage],
    citer: Citer,
    notes: Sequence[str],
) -> Iterator[Path]:
    """Audit the pages that have no records yet; yield each once its audit and records exist."""
    for path, records in pages.items():
        if records.exists():
            continue
        page, audit = read(path), records.with_suffix(".html")
        verdicts = citer.audit(each.claim for each in page.claims)
        title, find = page.title or path.name, citer.sources.source
        write_page(audit, audit_page(title, verdicts, notes, find, page))
        added = ({"audit": audit.name, "urgency": urgency(one)} for one in verdicts)
        rows = (own | verdict_record(one) for own, one in zip(added, verdicts, strict=True))
        write_atomically(records, map(encode_record, rows))
        yield path


def finish_work_list(out: Path, pages: Mapping[Path, Path]) -> Counter[str]:
    """Write the list of all pages, and return the number of statements by decision."""
    lines = chain(*(path.read_text(encoding="utf-8").splitlines() for path in pages.values()))
    records = sorted(map(json.loads, lines), key=lambda record: tuple(record["urgency"]))
    write_atomically(out / RECORDS, map(encode_record, records))
    listed = [record for record in records if record["flagged"] or record["decision"] == "add"]
    body = _TEMPLATE.generate(listed=listed, n_statements=len(records), n_pages=len(pages))
    write_page(out / INDEX, chain([page_head("Citations to look at", STYLE)], body))
    return Counter(record["decision"] for record in records)


def _address(record: Mapping[str, Any]) -> str:
    name = quote(record["audit"].encode("utf-8", "surrogateescape"))
    return f"{name}#{anchor(record['id'])}"


_TEMPLATE = page_template("worklist.html", {"address": _address})
