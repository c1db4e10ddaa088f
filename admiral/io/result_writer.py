"""Results on disk: JSON Lines that an interrupted run goes on writing where it stopped.

Beside ``results.jsonl`` there are, while a run goes on, ``results.jsonl.partial`` (finished
records), ``results.jsonl.lock`` and ``results.jsonl.settings.json``; the last one stays. A run
replaces ``results.jsonl`` by one rename at its end, so that file is always complete. Claims that
were passed over have no record there; ``results.jsonl.failed.jsonl`` names them.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.io.failed_claims import PassedOver
from admiral.io.run_settings import check_settings, write_settings
from admiral.records import Claim
from admiral.storage.atomic_files import encode_record, explained
from admiral.storage.atomic_replace import replaceable, sync_file
from admiral.storage.locks import acquire

_SYNC_SECONDS = 2.0


def companions(path: Path) -> tuple[Path, Path, Path, Path]:
    """Return the files beside some results: partial, settings, failed claims, and lock."""
    partial, settings, failed, lock = (
        path.parent / (path.name + suffix)
        for suffix in (".partial", ".settings.json", ".failed.jsonl", ".lock")
    )
    return partial, settings, failed, lock


class ResumableWriter:
    """Write one record per claim, in the order of the claims; a context manager.

    Leaving the context before `finish` keeps what was written for the next run.

    Attributes
    ----------
    finished
        Id and text of the claims that were answered before.
    passed_over
        The claims that could not be answered; add one when its turn has come.

    Parameters
    ----------
    path
        The file of results.
    settings
        What decides the results; an earlier run's records are only kept if its settings equal
        these. Values must survive JSON.
    overwrite
        Start anew whatever is there.

    Raises
    ------
    AdmiralError
        If the output cannot be written, another process is writing it, or what is there comes
        from other settings or from something else.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self._given, self.path = path, Path(os.path.realpath(path))
        self.finished: list[tuple[str, str]] = []
        self._partial, self._sidecar, failed, lock = companions(self.path)
        self.passed_over = PassedOver(failed)
        self._lock = FileLock(lock, timeout=0)
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._overwrite = overwrite
        self._file: BinaryIO | None = None
        self._valid_bytes = 0
        self._synced = 0.0

    def __enter__(self) -> Self:
        replaceable(self._given)
        if not self.path.parent.is_dir():
            raise AdmiralError(f"{self.path}: its directory does not exist. Create it first")
        with explained(self.path):
            acquire(self._lock, self.path, "writing this output")
            try:
                self._take_up()
            except BaseException:
                self._release()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._file is not None:
                with explained(self.path) if error is None else suppress(OSError):
                    os.fsync(self._file.fileno())
                self._file.close()
        finally:
            self._file = None
            self._release()

    def pending(self, claims: Iterable[Claim]) -> Iterator[Claim]:
        """Yield the claims that have no record yet and were not passed over.

        Raises
        ------
        AdmiralError
            If the finished records do not answer the first of `claims`: those were changed.
        """
        remedy = "Restore the claims, choose another output, or give --overwrite to start anew"
        answered = iter(self.finished)
        count = 0
        for claim in claims:
            if claim in self.passed_over:
                continue
            count += 1
            done = next(answered, None)
            if done is None:
                yield claim
            elif done != (claim.id, claim.text):
                problem = f"record {count} answers claim {done[0]!r}, not {claim.id!r}"
                if done[0] == claim.id:
                    problem = f"record {count} answers another text of claim {claim.id!r}"
                raise AdmiralError(f"{self.path}: the claims have changed: {problem}. {remedy}")
        if next(answered, None) is not None:
            problem = f"{len(self.finished)} records are there, but only {count} claims"
            raise AdmiralError(f"{self.path}: the claims have changed: {problem}. {remedy}")

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; from then on it outlives this process."""
        line = memoryview(encode_record(record))
        with explained(self.path):
            if self._file is None:  # a finished output gets more claims
                self._file = self._open_partial(self.path)
            while line:
                line = line[self._file.write(line) :]
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()

    def finish(self) -> None:
        """Put the file into its place; call it once all records are written."""
        if self._file is None:
            return
        with explained(self.path):
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            self._partial.replace(self.path)
            sync_file(self.path.parent)

    def _take_up(self) -> None:
        """Open the partial file behind its last whole record, or find the output complete.

        A partial file is made before its settings are written, so settings without a partial file
        belong to the finished output and no crash can pair records with foreign settings.
        """
        if self._overwrite:
            self.passed_over.clear()
            self._partial.write_bytes(b"")
        source = self._partial if self._partial.exists() else self.path
        self.passed_over.load()
        begun = _size(self._partial) or _size(self.path) or len(self.passed_over)
        if not self._overwrite and begun:
            check_settings(source, self._sidecar, self._settings)
            self.finished, self._valid_bytes = _scan(source)
            if source is self.path and self._valid_bytes == _size(source):
                return
        self._file = self._open_partial(source)
        write_settings(self._sidecar, self._settings)

    def _open_partial(self, source: Path) -> BinaryIO:
        if source is self.path and source.exists():
            shutil.copyfile(source, self._partial)
        file = self._partial.open("ab", buffering=0)
        file.truncate(self._valid_bytes)
        return file

    def _release(self) -> None:
        # Unlinked while it is held; FileLock gives up a lock on a file that has lost its name.
        with suppress(OSError):
            Path(self._lock.lock_file).unlink()
        self._lock.release()


def _scan(path: Path) -> tuple[list[tuple[str, str]], int]:
    """Return (id, claim) of the whole records at the start of a file, and their bytes.

    What follows the first broken line was torn by a crash; those claims are answered again.
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
