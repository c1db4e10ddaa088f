"""A version of a knowledge base, held open while other processes change the files.

Files never change once a manifest lists them. A change adds new files and then replaces the
manifest by a rename, so a reader of one manifest sees one version. A reader holds shared locks
(``flock``) on the directories of its segments; the system releases them when the process ends.
Files of older versions are removed once no reader holds them. On a file system without such locks,
a writer that cannot lock removes nothing, and a reader that cannot lock may find that the BM25
index it opens late is gone, which is reported as an error.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from admiral.errors import AdmiralError
from admiral.kb.store import Manifest, read_manifest
from admiral.storage.atomic_files import check_files

# Opening is retried while another process changes the knowledge base. A change takes milliseconds
# at least, so this many attempts are only exhausted by an endless series of changes.
ATTEMPTS, PAUSE = 200, 0.01  # PAUSE in seconds


class Snapshot:
    """A manifest and the directories of its segments, which are kept while this is open.

    `base`, `delta`: directories of the segments; `delta` is None if nothing has changed since the
    build.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.base = path / manifest.base.path
        self.delta = path / manifest.delta.path if manifest.delta else None
        self._locks: dict[Path, int] = {}
        self.close = weakref.finalize(self, _release, self._locks)
        for segment in (self.base, self.delta):
            if segment is not None:
                self._locks[segment] = _lock_shared(segment)

    @classmethod
    def open(cls, path: Path, *, check: bool = True) -> Snapshot:
        """Open the current version.

        `check`: whether to check that all files exist and have the recorded sizes. Raises
        AdmiralError if there is no knowledge base, it cannot be read, or a checked file is missing
        or of another size.
        """
        for _ in range(ATTEMPTS):
            manifest = read_manifest(path)
            try:
                snapshot = cls(path, manifest)
            except (BlockingIOError, FileNotFoundError, NotADirectoryError):
                snapshot = None  # being removed, so there is a newer version by now
            except OSError as error:
                raise AdmiralError(
                    f"{path}: cannot be opened ({error.strerror}). Check its permissions."
                ) from error
            if read_manifest(path).digest == manifest.digest:
                try:
                    if check or snapshot is None:
                        check_files(path, manifest.files, manifest.rebuild)
                except AdmiralError:
                    if snapshot is None or snapshot.intact:
                        raise
                else:
                    if snapshot is not None:
                        return snapshot
            if snapshot is not None:
                snapshot.close()
            time.sleep(PAUSE)
        raise constantly_changing_error(path)

    @property
    def intact(self) -> bool:
        """Whether the segments are still in place; False once another build replaced them."""
        try:
            return all(
                os.path.samestat(os.fstat(descriptor), os.stat(segment))
                for segment, descriptor in self._locks.items()
            )
        except OSError:
            return False

    @property
    def bm25(self) -> Path:
        """The folder of the BM25 index of all documents."""
        return (self.delta or self.base) / "bm25"

    def embeddings(self, segment: str) -> Path | None:
        """Return the folder of the embeddings of a segment, given its path; None if it has none."""
        name = self.manifest.embeddings(segment)
        return None if name is None else self.path / name

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise `AdmiralError` if another build replaces the segments during the block.

        This keeps files of two builds from being mixed.
        """
        if not self.intact:
            raise self._replaced_error()
        try:
            yield
        except AdmiralError:
            if self.intact:
                raise
        if not self.intact:
            raise self._replaced_error()

    def _replaced_error(self) -> AdmiralError:
        return AdmiralError(
            f"{self.path}: was replaced by another build while it was open. Start again."
        )

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def constantly_changing_error(path: Path) -> AdmiralError:
    """Return the error for a knowledge base that changes on every attempt to open it."""
    return AdmiralError(f"{path}: cannot be opened because it keeps changing. Try again.")


@contextmanager
def try_exclusive_lock(segment: Path) -> Iterator[bool]:
    """Yield whether no reader holds a directory; during the block, no reader can open it."""
    descriptor = os.open(segment, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except OSError:
        locked = False
    try:
        yield locked
    finally:
        os.close(descriptor)


def _lock_shared(segment: Path) -> int:
    descriptor = os.open(segment, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise  # it is being removed
    except OSError:
        pass  # the file system has no locks
    return descriptor


def _release(locks: dict[Path, int]) -> None:
    while locks:
        os.close(locks.popitem()[1])


class Closable(Protocol):
    """An object that holds resources."""

    def close(self) -> None:
        """Release all resources."""
        ...


T = TypeVar("T", bound=Closable)
R = TypeVar("R")


def open_with(path: Path, make: Callable[[Snapshot], T]) -> T:
    """Open the current snapshot and return ``make(snapshot)``, which then owns it.

    If another build replaces the knowledge base meanwhile, the result may mix files of two builds.
    It is then closed and made again. Raises AdmiralError if there is no knowledge base, files
    cannot be read, or `make` raises it.
    """
    for _ in range(ATTEMPTS):
        snapshot = Snapshot.open(path)
        try:
            made = make(snapshot)
        except BaseException as error:
            intact = snapshot.intact
            snapshot.close()
            if intact or not isinstance(error, AdmiralError):
                raise
        else:
            if snapshot.intact:
                return made
            made.close()
        time.sleep(PAUSE)
    raise constantly_changing_error(path)


def read_with(path: Path, read: Callable[[Snapshot], R]) -> R:
    """Return ``read(snapshot)`` of the current snapshot, and close it, as `open_with` does."""
    result = open_with(path, lambda snapshot: _Result(read(snapshot), snapshot))
    result.close()
    return result.value


@dataclass(frozen=True, slots=True)
class _Result(Generic[R]):
    value: R
    snapshot: Snapshot

    def close(self) -> None:
        self.snapshot.close()
