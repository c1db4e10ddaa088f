"""A change of a library: exclusive access for its writer, and a report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from admiral.kb.versions.transaction import Transaction, transaction
from admiral.library.library_contents import LibraryContents
from admiral.library.library_kind import LIBRARY, checked_library_path


@dataclass(frozen=True, slots=True)
class LibraryChange:
    """Report of a change.

    Attributes
    ----------
    path
        Directory of the library.
    sources, passages
        Numbers after the change.
    added, replaced, removed
        Numbers of sources with a new URL, with a known URL, and removed.
    skipped
        Number of sources left out because another one has the same URL.
    missing
        Number of URLs to remove that the library does not have.
    embedded
        Number of passages that were embedded.
    pending
        Number of sources added and removed since the last build or compaction.
    seconds
        Time taken.
    """

    path: Path
    sources: int
    passages: int
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0
    missing: int = 0
    embedded: int = 0
    pending: int = 0
    seconds: float = 0.0


@contextmanager
def changing_library(path: str | Path, wait: bool) -> Iterator[tuple[Transaction, LibraryContents]]:
    """Give this process exclusive write access to a library."""
    with (
        transaction(checked_library_path(path), wait, LIBRARY) as change,
        closing(LibraryContents(change.snapshot)) as contents,
    ):
        yield change, contents


def report_change(
    path: str | Path, change: Transaction, began: float, **counts: int
) -> LibraryChange:
    """Return the report of a change that began at a monotonic time, with some counts."""
    manifest, delta = change.manifest, change.manifest.delta
    return LibraryChange(
        Path(path),
        manifest.documents,
        manifest.counts["passages"],
        pending=delta.documents + delta.removed if delta else 0,
        seconds=time.monotonic() - began,
        **counts,
    )
