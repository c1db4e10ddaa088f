"""Snapshots of a knowledge base or of all members of a joined one, opened together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from admiral.errors import AdmiralError
from admiral.kb.store.manifest_records import KNOWLEDGE_BASE, CollectionKind
from admiral.kb.store.member_manifests import (
    CombinedManifest,
    JoinManifest,
    missing_member_error,
    read_join,
)
from admiral.kb.store.snapshot import ATTEMPTS, PAUSE, Snapshot, constantly_changing_error


class Closable(Protocol):
    """An object that holds resources."""

    def close(self) -> None:
        """Release all resources."""
        ...


T = TypeVar("T", bound=Closable)
R = TypeVar("R")


class Collection:
    """Snapshots that are searched as one, held open while other processes change the files.

    A knowledge base that holds documents itself is a collection of one snapshot.

    Attributes
    ----------
    path
        Directory of the knowledge base.
    snapshots
        Snapshots of the members, in order.
    manifest
        The combined manifest of the snapshots.
    """

    def __init__(
        self, path: Path, join: JoinManifest | None, kind: CollectionKind = KNOWLEDGE_BASE
    ) -> None:
        self.path = path
        self.snapshots: list[Snapshot] = []
        try:
            for member in [path] if join is None else join.paths(path):
                try:
                    self.snapshots.append(Snapshot.open(member, kind=kind))
                except AdmiralError as error:
                    if join is None:
                        raise
                    raise missing_member_error(path, error) from error
            manifests = tuple(snapshot.manifest for snapshot in self.snapshots)
            self.manifest = CombinedManifest(path, join, manifests)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path, kind: CollectionKind = KNOWLEDGE_BASE) -> Collection:
        """Open the current snapshots.

        Parameters
        ----------
        path
            Directory of the knowledge base.
        kind
            What the directory should hold; only knowledge bases are joined.

        Raises
        ------
        AdmiralError
            If there is no knowledge base, a member is missing, or files cannot be read.
        """
        for _ in range(ATTEMPTS):
            join = _read_join(path, kind)
            try:
                return cls(path, join, kind)
            except AdmiralError:
                if _read_join(path, kind) == join:
                    raise
            time.sleep(PAUSE)
        raise constantly_changing_error(path)

    @property
    def intact(self) -> bool:
        """Whether the files of all snapshots are still in place."""
        return all(snapshot.intact for snapshot in self.snapshots)

    @property
    def trie_folder(self) -> Path:
        """The directory that holds the token tries of the base segments."""
        return self.path if self.manifest.join else self.snapshots[0].base

    def replaced_error(self) -> AdmiralError:
        """Return the error for a knowledge base that another build has replaced."""
        replaced = next((s.path for s in self.snapshots if not s.intact), self.path)
        return AdmiralError(
            f"{replaced}: was replaced by another build while it was open. Start again."
        )

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise `AdmiralError` if another build replaces a snapshot during the block.

        This keeps files of two builds from being mixed.
        """
        if not self.intact:
            raise self.replaced_error()
        try:
            yield
        except AdmiralError:
            if self.intact:
                raise
        if not self.intact:
            raise self.replaced_error()

    def close(self) -> None:
        """Release all snapshots."""
        for snapshot in self.snapshots:
            snapshot.close()


def _read_join(path: Path, kind: CollectionKind) -> JoinManifest | None:
    return read_join(path) if kind is KNOWLEDGE_BASE else None


def open_with(
    path: Path, make: Callable[[Collection], T], kind: CollectionKind = KNOWLEDGE_BASE
) -> T:
    """Open a collection and return ``make(collection)``, which then owns the collection.

    If another build replaces a knowledge base meanwhile, the result may mix files of two builds. It
    is then closed and made again.

    Raises
    ------
    AdmiralError
        If `Collection.open` or `make` raises it.
    """
    for _ in range(ATTEMPTS):
        collection = Collection.open(path, kind)
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
    raise constantly_changing_error(path)


def read_with(path: Path, read: Callable[[Collection], R]) -> R:
    """Open a collection, return ``read(collection)`` and close the collection.

    Raises
    ------
    AdmiralError
        If `Collection.open` or `read` raises it.
    """
    result = open_with(path, lambda collection: _Result(read(collection), collection))
    result.close()
    return result.value


@dataclass(frozen=True, slots=True)
class _Result(Generic[R]):
    value: R
    collection: Collection

    def close(self) -> None:
        self.collection.close()
