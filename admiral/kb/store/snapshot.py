"""One version of a knowledge base, held open while others change it.

Files never change once a manifest names them: a change adds new ones and puts a new manifest in the
place of the old one, by a rename. So whoever has read one manifest sees one version. A reader
holds the directories of its parts by shared locks (``flock``), which the system lets go when the
process ends; the files of older versions are removed when nobody holds them. On a file system
without such locks nothing is removed (where a writer cannot lock) or a reader that opens its BM25
index late may miss it (where a reader cannot), which is told as an error.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.kb.store.manifest import read_manifest
from admiral.kb.store.parts import Manifest
from admiral.storage.checksums import check_files

# A change takes at least milliseconds, and a reader is overtaken only by changes.
ATTEMPTS, PAUSE = 200, 0.01


class Version:
    """A manifest and the directories of its parts, which stay while this is open.

    Attributes
    ----------
    path
        The knowledge base.
    manifest
        What it holds.
    base, delta
        The directories of the parts; no delta where nothing has changed.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.base = path / manifest.base.path
        self.delta = path / manifest.delta.path if manifest.delta else None
        self._held: dict[Path, int] = {}
        self.close = weakref.finalize(self, _let_go, self._held)
        for part in (self.base, self.delta):
            if part is not None:
                self._held[part] = _hold(part)

    @classmethod
    def open(cls, path: Path, *, check: bool = True) -> Version:
        """Hold the version that is there now.

        Parameters
        ----------
        path
            The knowledge base.
        check
            Whether the files must be there and of their size.

        Raises
        ------
        AdmiralError
            If there is no knowledge base, it cannot be read, or files of it are missing or not of
            their size.
        """
        for _ in range(ATTEMPTS):
            manifest = read_manifest(path)
            try:
                version = cls(path, manifest)
            except (BlockingIOError, FileNotFoundError, NotADirectoryError):
                version = None  # removed, or about to be: another version is there by now
            except OSError as error:
                raise AdmiralError(
                    f"{path}: cannot be opened ({error.strerror}). Check who may read it."
                ) from error
            if read_manifest(path).digest == manifest.digest:
                try:
                    if check or version is None:
                        check_files(path, manifest.files)
                except AdmiralError:
                    if version is None or version.intact:
                        raise
                else:
                    if version is not None:
                        return version
            if version is not None:
                version.close()
            time.sleep(PAUSE)
        raise restless(path)

    @property
    def intact(self) -> bool:
        """Whether the parts still lie where they did: false when another build took the place."""
        try:
            return all(
                os.path.samestat(os.fstat(descriptor), os.stat(part))
                for part, descriptor in self._held.items()
            )
        except OSError:
            return False

    def __enter__(self) -> Version:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def restless(path: Path) -> AdmiralError:
    """Return the error of a knowledge base of which no version stays while it is opened."""
    return AdmiralError(f"{path}: cannot be opened, as it is changed all the time. Try again.")


@contextmanager
def unheld(part: Path) -> Iterator[bool]:
    """Whether nobody holds a directory; while the block runs, nobody can begin to."""
    descriptor = os.open(part, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = True
    except OSError:
        free = False
    try:
        yield free
    finally:
        os.close(descriptor)


def _hold(part: Path) -> int:
    descriptor = os.open(part, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise  # it is being removed
    except OSError:
        pass  # no locks on this file system
    return descriptor


def _let_go(held: dict[Path, int]) -> None:
    while held:
        os.close(held.popitem()[1])
