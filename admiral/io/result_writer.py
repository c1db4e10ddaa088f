"""Write results so that an interrupted run can be resumed, and TREC run files beside them.

While a run writes ``results.jsonl``, finished records are in ``results.jsonl.partial``, and
``results.jsonl.lock`` is held. At the end, one rename replaces ``results.jsonl``, so that file is
always complete.

``results.jsonl.settings.json`` holds the settings that decided the results; they are compared
before more results are appended. ``results.jsonl.failed.jsonl`` has a record for each claim without
a result, with the fields ``id``, ``claim`` and ``error``. It can be given as --input to try these
claims again.

Lines of a TREC run are ``query Q0 document rank score tag``. The document is named by its id in the
corpus, so that qrels apply to the run, and without an id by its title.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self
from urllib.parse import unquote_to_bytes

from admiral.errors import AdmiralError
from admiral.records import Claim
from admiral.storage.atomic_files import (
    WriterLock,
    encode_record,
    explain_write_errors,
    publish_file,
    resolve_output_path,
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


def trec_lines(records: Iterable[Mapping[str, Any]], tag: str = "admiral") -> Iterator[str]:
    """Yield the lines of a run.

    The score column counts down from the number of documents to 1: evaluation tools sort by it, and
    the scores in the records come from different hops and are not comparable. White space and ``%``
    in a query id are written as ``%XX``. `tag` is the name of the run, the last column.
    """
    for record in records:
        query, documents = _UNSAFE_IN_ID.sub(_hex, str(record["id"])), record["documents"]
        for rank, document in enumerate(documents, 1):
            score = len(documents) + 1 - rank
            yield f"{query} Q0 {document_column(document)} {rank} {score} {tag}\n"


def write_trec(records: Iterable[Mapping[str, Any]], path: Path, tag: str = "admiral") -> None:
    """Write a run file, atomically.

    Raises AdmiralError if `path` cannot be written or `tag` is not one printable ASCII word.
    """
    if not re.fullmatch("[!-~]+", tag):
        raise AdmiralError(f"TREC tag {tag!r}: must be one word of printable ASCII characters")
    write_atomically(path, (line.encode("utf-8") for line in trec_lines(records, tag)))


def _hex(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _underscore_or_hex(match: re.Match[str]) -> str:
    return "_" if match.group() == " " else _hex(match)


FORMAT = 1
START_AGAIN = "Choose another output, or give --overwrite to start again"


class CompanionPaths(NamedTuple):
    """Paths of the files beside a results file."""

    partial: Path  # finished records of a run that is not complete
    settings: Path
    failed: Path
    lock: Path  # held by the process that writes the results


def companion_paths(results: Path) -> CompanionPaths:
    """Return the paths of the files beside a results file."""
    suffixes = (".partial", ".settings.json", ".failed.jsonl", ".lock")
    return CompanionPaths(*(results.parent / (results.name + suffix) for suffix in suffixes))


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run to their file, atomically."""
    text = json.dumps({"format": FORMAT, "settings": settings}, indent=1) + "\n"
    write_atomically(path, [text.encode()])


def check_settings(results: Path, path: Path, settings: Mapping[str, Any]) -> None:
    """Raise unless results were made with the given settings.

    `settings`: settings of the current run, as JSON returns them. Raises AdmiralError if there is
    no such file, or it holds other settings.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise ValueError
        previous = dict(record["settings"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        problem = f"exists, but {path.name} does not say which settings made it"
        raise AdmiralError(f"{results}: {problem}. {START_AGAIN}") from None
    keys = sorted(previous.keys() | settings.keys())
    different = [key for key in keys if previous.get(key) != settings.get(key)]
    if different:
        differences = "; ".join(
            f"{key} was {previous.get(key, 'unset')}, now {settings.get(key, 'unset')}"
            for key in different
        )
        remedy = START_AGAIN
        if different == ["precision"]:  # by default, the machine decides it
            remedy += f", or resume with --set precision={previous.get('precision')}"
        raise AdmiralError(f"{results}: was written with other settings ({differences}). {remedy}")


class FailedClaims:
    """The file of claims that failed; it exists only if there are any."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._claims: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, claim: Claim) -> bool:
        return (claim.id, claim.text) in self._claims

    def load(self) -> None:
        """Read the claims that failed in earlier runs; remove a last line cut off by a crash."""
        if not self.path.exists():
            return
        with explain_write_errors(self.path), self.path.open("r+b") as file:
            size = 0
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    record = json.loads(line)
                    self._claims.add((record["id"], record["claim"]))
                except (ValueError, KeyError, TypeError) as error:
                    remedy = "Delete the line, or give --overwrite to start again"
                    raise AdmiralError(
                        f"{self.path}:{number}: is not a record of a claim ({error!r}). {remedy}"
                    ) from error
                size += len(line)
            file.truncate(size)

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a claim and flush it to the disk, before any later result is written."""
        with explain_write_errors(self.path), self.path.open("ab") as file:
            file.write(encode_record(record))
            file.flush()
            os.fsync(file.fileno())
        self._claims.add((record["id"], record["claim"]))

    def clear(self) -> None:
        """Forget all claims and remove the file."""
        self._claims.clear()
        self.path.unlink(missing_ok=True)

    def raise_if_any(self, total: int) -> None:
        """Raise `AdmiralError` if any claim failed; `total` is the number of all claims."""
        if self:
            raise AdmiralError(
                f"{self.path}: {len(self)} of {total} claims failed and have no result. The file "
                "says why; give it as --input, with another --output, to try them again"
            )


_SYNC_SECONDS = 2.0


class ResumableWriter:
    """Write one record per claim, in the order of the claims.

    It is a context manager. Leaving the context before `finish` keeps the records for the next run.
    `settings`: settings that decide the results, as JSON values. Records of an earlier run are kept
    only if its settings are equal. `finished`: id and text of the claims that have a record.
    `failed_claims`: claims that failed; add each of them in the order of the claims. Raises
    AdmiralError on entering: if the output cannot be written, another process is writing it, or it
    has other settings or another content.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self._given_path, self.path = path, Path(os.path.realpath(path))
        self.finished: list[tuple[str, str]] = []
        paths = companion_paths(self.path)
        self._partial, self._settings_path = paths.partial, paths.settings
        self.failed_claims = FailedClaims(paths.failed)
        self._lock = WriterLock(paths.lock, self.path, "writing this output")
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._overwrite = overwrite
        self._file: BinaryIO | None = None
        self._valid_bytes = 0
        self._synced = 0.0

    def __enter__(self) -> Self:
        resolve_output_path(self._given_path)
        if not self.path.parent.is_dir():
            raise AdmiralError(f"{self.path}: its directory does not exist. Create it first")
        with explain_write_errors(self.path):
            self._lock.acquire()
            try:
                self._resume()
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if self._file is not None:
                with explain_write_errors(self.path) if error is None else suppress(OSError):
                    os.fsync(self._file.fileno())
                self._file.close()
        finally:
            self._file = None
            self._lock.release()

    def pending(self, claims: Iterable[Claim]) -> Iterator[Claim]:
        """Yield the claims that have neither a record nor failed.

        Raises AdmiralError if the finished records do not belong to the first of `claims`, so that
        the claims have changed since.
        """
        remedy = f"Restore the claims, {START_AGAIN[0].lower()}{START_AGAIN[1:]}"
        finished = iter(self.finished)
        count = 0
        for claim in claims:
            if claim in self.failed_claims:
                continue
            count += 1
            done = next(finished, None)
            if done is None:
                yield claim
            elif done != (claim.id, claim.text):
                problem = f"record {count} is of claim {done[0]!r}, not {claim.id!r}"
                if done[0] == claim.id:
                    problem = f"record {count} is of another text of claim {claim.id!r}"
                raise AdmiralError(f"{self.path}: the claims have changed: {problem}. {remedy}")
        if next(finished, None) is not None:
            problem = f"there are {len(self.finished)} records, but only {count} claims"
            raise AdmiralError(f"{self.path}: the claims have changed: {problem}. {remedy}")

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; it survives this process from then on."""
        line = memoryview(encode_record(record))
        with explain_write_errors(self.path):
            if self._file is None:  # more claims for a complete output
                self._file = self._open_partial(self.path)
            while line:
                line = line[self._file.write(line) :]
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()

    def finish(self) -> None:
        """Move the complete file into its place, after the last record."""
        if self._file is None:
            return
        with explain_write_errors(self.path):
            self._file.close()
            self._file = None
            publish_file(self._partial, self.path)

    def _resume(self) -> None:
        """Open the partial file after its last whole record, unless the output is complete.

        The partial file is created before its settings are written. Settings without a partial file
        therefore belong to the complete output, and no crash can leave records with settings of
        another run.
        """
        if self._overwrite:
            self.failed_claims.clear()
            self._partial.write_bytes(b"")
        source = self._partial if self._partial.exists() else self.path
        self.failed_claims.load()
        started = _size(self._partial) or _size(self.path) or len(self.failed_claims)
        if not self._overwrite and started:
            check_settings(source, self._settings_path, self._settings)
            self.finished, self._valid_bytes = _scan(source)
            if source is self.path and self._valid_bytes == _size(source):
                return
        self._file = self._open_partial(source)
        write_settings(self._settings_path, self._settings)

    def _open_partial(self, source: Path) -> BinaryIO:
        if source is self.path and source.exists():
            shutil.copyfile(source, self._partial)
        file = self._partial.open("ab", buffering=0)
        file.truncate(self._valid_bytes)
        return file


def _scan(path: Path) -> tuple[list[tuple[str, str]], int]:
    """Return (id, claim) of the whole records at the start of a file, and their bytes.

    Everything from the first broken line on was cut off by a crash; those claims are done again.
    """
    finished: list[tuple[str, str]] = []
    size = 0
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
                entry = str(record["id"]), str(record["claim"])
            except (ValueError, KeyError, TypeError):
                break
            if not line.endswith(b"\n"):
                break
            finished.append(entry)
            size += len(line)
    return finished, size


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
