"""Write results so that an interrupted run can be resumed, and TREC run files beside them.

Records are appended to ``results.jsonl``. ``results.jsonl.settings.json`` holds the settings that
decided them; they are compared before more are appended. ``results.jsonl.failed.jsonl`` has a
record for each claim without a result, with the fields ``id``, ``claim`` and ``error``.

Lines of a TREC run are ``query Q0 document rank score tag``. The document is named by its id in the
corpus, so that qrels apply to the run, and without an id by its title.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote_to_bytes

from admiral.errors import AdmiralError
from admiral.records import Claim
from admiral.storage.atomic_files import (
    encode_record,
    explain_write_errors,
    sync_path,
    write_atomically,
)

# Columns end at white space, which trec_eval and Python define differently. Escaped is everything
# that is white space to either of them, or that cannot be printed.
_BLANK = r"\s\x00-\x1f\x7f-\xa0\ud800-\udfff\u200b-\u200f\u2028-\u202e\ufeff"
_UNPRINTABLE = re.compile(f"[{_BLANK}]")
_UNSAFE_IN_ID = re.compile(f"[%{_BLANK}]")
_UNSAFE_IN_TITLE = re.compile(f"[%{_BLANK}_]")


def escape_title(title: str) -> str:
    """Return a title as one column: spaces become ``_``, other unsafe characters ``%XX``.

    The mapping is injective, since ``_`` and ``%`` themselves are escaped; `unescape_title` is its
    inverse. The empty title becomes ``%``.
    """
    return _UNSAFE_IN_TITLE.sub(_underscore_or_hex, title) or "%"


def unescape_title(column: str) -> str:
    """Return the title of a column that `escape_title` wrote."""
    raw = b"" if column == "%" else unquote_to_bytes(column.replace("_", " "))
    return raw.decode("utf-8", "surrogatepass")


def id_column(id: str) -> str:
    """Return the id of a document as one column: as it is, if that is one printable word.

    Other ids are escaped like titles.
    """
    return id if id and not _UNPRINTABLE.search(id) else escape_title(id)


def document_column(document: Mapping[str, Any]) -> str:
    """Return the column of a document of a result record: its id, or its title if it has none."""
    id = document.get("id")
    return id_column(id) if id else escape_title(document["title"])


def unescape_id(column: str) -> str:
    """Return the query id of a column that `trec_lines` wrote."""
    return unquote_to_bytes(column).decode("utf-8", "surrogatepass")


def trec_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a run.

    The score column counts down from the number of documents to 1: evaluation tools sort by it, and
    the scores in the records come from different hops and are not comparable. White space and ``%``
    in a query id are written as ``%XX``.
    """
    for record in records:
        query, documents = _UNSAFE_IN_ID.sub(_hex, str(record["id"])), record["documents"]
        for rank, document in enumerate(documents, 1):
            score = len(documents) + 1 - rank
            yield f"{query} Q0 {document_column(document)} {rank} {score} admiral\n"


def write_trec(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write a run file, atomically; raise AdmiralError if it cannot be written."""
    write_atomically(path, (line.encode("utf-8") for line in trec_lines(records)))


def _hex(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _underscore_or_hex(match: re.Match[str]) -> str:
    return "_" if match.group() == " " else _hex(match)


_START_AGAIN = "choose another output, or give --overwrite to start again"


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run to their file, atomically."""
    write_atomically(path, [json.dumps({"format": 1, "settings": settings}, indent=1).encode()])


def check_settings(results: Path, path: Path, settings: Mapping[str, Any]) -> None:
    """Raise AdmiralError unless the settings of a run, as JSON returns them, are in their file."""
    try:
        previous = dict(json.loads(path.read_bytes())["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"exists, but {path.name} does not say which settings made it"
        raise AdmiralError(f"{results}: {problem}. {_START_AGAIN.capitalize()}") from error
    different = [
        key for key in sorted({*previous, *settings}) if previous.get(key) != settings.get(key)
    ]
    if different:
        differences = "; ".join(
            f"{key} was {previous.get(key, 'unset')}, now {settings.get(key, 'unset')}"
            for key in different
        )
        remedy = _START_AGAIN.capitalize()
        if different == ["precision"]:  # by default, the machine decides it
            remedy += f", or resume with --set precision={previous.get('precision')}"
        raise AdmiralError(f"{results}: was written with other settings ({differences}). {remedy}")


class ResumableWriter:
    """Append a record for each claim to a file; a context manager.

    `settings`: settings that decide the results, as JSON values. `finished`: id and text of the
    claims that have a record of an earlier run.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.path, self.finished = path, list[tuple[str, str]]()
        self._settings, self._overwrite = json.loads(json.dumps(settings)), overwrite
        self._failed, self._n_failed = Path(f"{path}.failed.jsonl"), 0

    def __enter__(self) -> Self:
        settings = Path(f"{self.path}.settings.json")
        with explain_write_errors(self.path):
            if not self._overwrite and self.path.exists() and self.path.stat().st_size:
                check_settings(self.path, settings, self._settings)
                os.truncate(self.path, self._read())
            else:
                self.path.write_bytes(b"")  # first: no record gets the settings of another run
                write_settings(settings, self._settings)
            self._file = self.path.open("ab")
            self._failed.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self) -> int:
        """Read the whole records, and return their bytes: what follows was cut off by a crash."""
        size = 0
        with self.path.open("rb") as file:
            for line in file:
                try:
                    record = json.loads(line)
                    entry = str(record["id"]), str(record["claim"])
                except (ValueError, KeyError, TypeError):
                    break
                if not line.endswith(b"\n"):
                    break
                self.finished.append(entry)
                size += len(line)
        return size

    def pending(self, claims: Iterable[Claim]) -> list[Claim]:
        """Return the claims that have no record."""
        left, pending = dict(self.finished), []
        for claim in claims:
            text = left.pop(claim.id, None)
            if text is None:
                pending.append(claim)
            elif text != claim.text:
                raise self._changed(f"the record of claim {claim.id!r} is of another text")
        for id in left:
            raise self._changed(f"there is a record of claim {id!r}, but no such claim")
        return pending

    def _changed(self, problem: str) -> AdmiralError:
        remedy = f"Restore the claims, {_START_AGAIN}"
        return AdmiralError(f"{self.path}: the claims have changed: {problem}. {remedy}")

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; it survives this process from then on."""
        with explain_write_errors(self.path):
            self._file.write(encode_record(record))
            self._file.flush()

    def write_failed(self, record: Mapping[str, Any]) -> None:
        """Append a claim without a result, and its ``error``; the next run tries it again."""
        with explain_write_errors(self._failed), self._failed.open("ab") as file:
            file.write(encode_record(record))
        self._n_failed += 1

    def finish(self) -> None:
        """Force the file to the disk; raise AdmiralError if any claim has failed."""
        with explain_write_errors(self.path):
            sync_path(self.path)
        if self._n_failed:
            raise AdmiralError(
                f"{self._failed}: {self._n_failed} claims failed and have no result. The file says "
                "why; run the same command to try them again"
            )
