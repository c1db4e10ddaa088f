"""What is open of a knowledge base: one version of each of its members, or of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from admiral.errors import AdmiralError
from admiral.kb.store.members import Holdings, Join, read_join, without
from admiral.kb.store.snapshot import ATTEMPTS, PAUSE, Version, restless


class Closable(Protocol):
    """What is open."""

    def close(self) -> None:
        """Release everything."""
        ...


T = TypeVar("T", bound=Closable)
R = TypeVar("R")


class Collection:
    """Versions that are searched as one, held open while others change their knowledge bases.

    A knowledge base that holds documents itself is a collection of one version, its own.

    Attributes
    ----------
    path
        The knowledge base.
    versions
        Those of its members, in order.
    holdings
        What their manifests say.
    """

    def __init__(self, path: Path, join: Join | None) -> None:
        self.path = path
        self.versions: list[Version] = []
        try:
            for member in [path] if join is None else join.paths(path):
                try:
                    self.versions.append(Version.open(member))
                except AdmiralError as error:
                    if join is None:
                        raise
                    raise without(path, error) from error
            manifests = tuple(version.manifest for version in self.versions)
            self.holdings = Holdings(path, join, manifests)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Collection:
        """Hold the versions that are there now.

        Raises
        ------
        AdmiralError
            If there is no knowledge base, a member is missing, or one of them cannot be read or
            lacks files.
        """
        for _ in range(ATTEMPTS):
            join = read_join(path)
            try:
                return cls(path, join)
            except AdmiralError:
                if read_join(path) == join:
                    raise
            time.sleep(PAUSE)
        raise restless(path)

    @property
    def intact(self) -> bool:
        """Whether the parts of all versions still lie where they did."""
        return all(version.intact for version in self.versions)

    @property
    def trie_folder(self) -> Path:
        """The directory whose token tries belong to the bases of the versions."""
        return self.path if self.holdings.join else self.versions[0].base

    def replaced(self) -> AdmiralError:
        """Return the error for a member whose place another build has taken."""
        gone = next((one.path for one in self.versions if not one.intact), self.path)
        return AdmiralError(
            f"{gone}: was replaced by another build while it was open. Start again."
        )

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse to mix parts of two builds if the place of a version is taken meanwhile."""
        if not self.intact:
            raise self.replaced()
        try:
            yield
        except AdmiralError:
            if self.intact:
                raise
        if not self.intact:
            raise self.replaced()

    def close(self) -> None:
        """Let go of all versions."""
        for version in self.versions:
            version.close()


def opened(path: Path, make: Callable[[Collection], T]) -> T:
    """Return what is made of the versions that are there now.

    If another build takes the place of one of them meanwhile, what was made may be of both, or an
    error of neither: it is closed and made again.

    Raises
    ------
    AdmiralError
        What `Collection.open` or `make` raise.
    """
    for _ in range(ATTEMPTS):
        collection = Collection.open(path)
        try:
            made = make(collection)
        except BaseException as error:
            intact = collection.intact
            collection.close()
            if intact or not isinstance(error, AdmiralError):
                raise
        else:
            if collection.intact:
                return made
            made.close()
        time.sleep(PAUSE)
    raise restless(path)


def learnt(path: Path, ask: Callable[[Collection], R]) -> R:
    """Return what is to be known of the versions that are there now, and let go of them.

    Raises
    ------
    AdmiralError
        What `Collection.open` or `ask` raise.
    """
    answer = opened(path, lambda collection: _Answer(ask(collection), collection))
    answer.close()
    return answer.value


@dataclass(frozen=True, slots=True)
class _Answer(Generic[R]):
    value: R
    collection: Collection

    def close(self) -> None:
        self.collection.close()
