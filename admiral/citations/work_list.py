"""The audit of a folder of pages: one of each page, and a list of what to do, worst first.

For each page of the folder, the output has ``PAGE.html``, its audit, and ``PAGE.jsonl``, the
records of its verdicts; ``index.html`` and ``worklist.jsonl`` have the statements of all pages. A
page is done once its records exist: an interrupted run resumes with the next page, and is refused
if a setting or the library has changed since.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from admiral.citations.audit_page import STYLE, anchor, audit_page
from admiral.citations.citer import Citer, urgency
from admiral.citations.extract import ReadPage
from admiral.citations.source_collections import SourceText
from admiral.citations.verdict_file import verdict_record
from admiral.errors import AdmiralError
from admiral.io.rendering import page_head
from admiral.io.result_writer import check_settings, write_settings
from admiral.storage.atomic_files import encode_record, write_atomically
from proofs.logic.wording import escaped

#: Names of the files about all pages.
INDEX, RECORDS = "index.html", "worklist.jsonl"
_SETTINGS = "settings.json"


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page to audit: its file, and the name of what is written about it."""

    path: Path
    name: str


def page_files(folder: Path) -> list[PageFile]:
    """Return the files of a folder by name, hidden ones left out.

    Raises AdmiralError if there are none, or the folder cannot be read.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise AdmiralError(f"{folder}: cannot be read: {error.strerror}. Check --pages") from error
    paths = [path for path in paths if not path.name.startswith(".")]
    if not paths:
        raise AdmiralError(f"{folder}: holds no files. Put pages of wikitext or HTML into it")
    stems = Counter(path.stem for path in paths)
    reserved = {Path(INDEX).stem, Path(RECORDS).stem, Path(_SETTINGS).stem}
    return [
        PageFile(path, path.name if stems[path.stem] > 1 or path.stem in reserved else path.stem)
        for path in paths
    ]


class WorkList:
    """Writes audits of pages, and the list of their statements, into a folder.

    `settings`: everything that decides the verdicts, as JSON values. Raises AdmiralError if the
    folder holds a work list of other settings.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self._out = out
        own = json.loads(json.dumps(settings))
        path = out / _SETTINGS
        if path.exists():
            check_settings(out, path, own)
        elif out.exists() and any(out.iterdir()):
            raise AdmiralError(f"{out}: is not empty and holds no work list. Give another --output")
        else:
            out.mkdir(parents=True, exist_ok=True)
            write_settings(path, own)

    def pending(self, pages: Sequence[PageFile]) -> list[PageFile]:
        """Return the pages that have no records yet."""
        return [page for page in pages if not self._records(page).exists()]

    def add(
        self,
        page: PageFile,
        read: ReadPage,
        citer: Citer,
        notes: Sequence[str],
        source_text: SourceText,
    ) -> None:
        """Audit a page, and write its audit and then its records."""
        verdicts = citer.audit(each.claim for each in read.claims)
        parts = audit_page(read.title or page.path.name, verdicts, notes, source_text, read)
        write_atomically(
            self._out / f"{page.name}.html", (part.encode("utf-8", "replace") for part in parts)
        )
        records = (
            {"audit": f"{page.name}.html", "urgency": urgency(one), **verdict_record(one)}
            for one in verdicts
        )
        write_atomically(self._records(page), map(encode_record, records))

    def finish(self, pages: Sequence[PageFile]) -> Counter[str]:
        """Write the list of all pages, and return the number of statements by decision."""
        records = [record for page in pages for record in _read(self._records(page))]
        records.sort(key=lambda record: tuple(record["urgency"]))
        write_atomically(self._out / RECORDS, map(encode_record, records))
        parts = _index_page(records, len(pages))
        write_atomically(self._out / INDEX, (part.encode("utf-8", "replace") for part in parts))
        return Counter(record["decision"] for record in records)

    def _records(self, page: PageFile) -> Path:
        return self._out / f"{page.name}.jsonl"


def audit_folder(
    pages: Sequence[PageFile],
    read: Callable[[Path], ReadPage],
    work_list: WorkList,
    citer: Citer,
    notes: Sequence[str],
    source_text: SourceText,
) -> Iterator[PageFile]:
    """Audit the pages that are not done yet, and yield each of them when it is."""
    for page in work_list.pending(pages):
        work_list.add(page, read(page.path), citer, notes, source_text)
        yield page


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise AdmiralError(
            f"{path}: is not a file of records ({error}). Delete it, and give the command again"
        ) from error


def _index_page(records: Sequence[Mapping[str, Any]], pages: int) -> Iterator[str]:
    """Yield the HTML of the list: statements that ask for something, the most urgent first."""
    yield page_head("Citations to look at", STYLE)
    listed = [record for record in records if record["flagged"] or record["decision"] == "add"]
    yield (
        f"<h1>Citations to look at</h1>\n<p>{len(listed):,} of {len(records):,} statements of "
        f"{pages:,} pages. What editors have tagged comes first, then what a source denies, then "
        "what has the least support.</p>\n<table>\n<tr><th>page</th><th>statement</th>"
        "<th>what to do</th></tr>\n"
    )
    for record in listed:
        address = html.escape(f"{_quoted(record['audit'])}#{anchor(record['id'])}")
        yield (
            f'<tr><td><a href="{address}">{escaped(record["page"] or record["audit"])}</a></td>'
            f"<td>{escaped(record['claim'])}</td><td>{escaped(record['summary'])}</td></tr>\n"
        )
    yield "</table>\n</body>\n</html>\n"


def _quoted(name: str) -> str:
    return quote(name.encode("utf-8", "surrogateescape"))
