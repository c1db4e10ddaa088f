"""Writers of libraries of sources, for the fault injection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.library import (
    Library,
    Source,
    add_sources,
    build_library,
    compact_library,
    describe_library,
    library_problems,
    remove_sources,
)
from benchmarks.writer import ABSENT, Writer
from benchmarks.writers_kb import nothing


def sources(first: int, count: int) -> Iterator[Source]:
    """Yield some sources of a few passages."""
    for n in range(first, first + count):
        text = f"Source {n} is about {n * n}. " * 60
        yield Source(f"https://example.org/{n}", f"Title {n}", text)


def some_library(folder: Path) -> None:
    """Build a library of 100 sources."""
    build_library(folder / "library", sources(0, 100))


def changed_library(folder: Path) -> None:
    """Build one that was changed since."""
    some_library(folder)
    sources_added(folder)
    sources_removed(folder)


def library_rebuilt(folder: Path) -> None:
    """Build over it, or where nothing is."""
    build_library(folder / "library", sources(90, 30), overwrite=True)


def sources_added(folder: Path) -> None:
    """Add sources, some of which are there."""
    add_sources(folder / "library", sources(95, 10))


def sources_removed(folder: Path) -> None:
    """Remove sources."""
    urls = ["example.org/3", "example.org/9"]
    remove_sources(folder / "library", urls, ignore_missing=True)


def library_compacted(folder: Path) -> None:
    """Merge what was changed."""
    compact_library(folder / "library")


def library_seen(folder: Path) -> Any:
    """Check a library and search in it; return what it holds."""
    path = folder / "library"
    if not path.exists():
        return ABSENT
    if problems := library_problems(path):
        raise AdmiralError("; ".join(problems))
    facts = describe_library(path)
    with Library.open(path) as library:
        urls = [source.url for source in library.sources()]
        found = library.search(["about 9409", "source 101"], 3)
        hits = [[(s.passage.url, s.passage.number) for s in ranking] for ranking in found]
    return [
        urls,
        [list(map(list, ranking)) for ranking in hits],
        bool(facts.added or facts.removed),
    ]


WRITERS = (
    Writer("library build", some_library, library_rebuilt, library_seen),
    Writer("library build anew", nothing, library_rebuilt, library_seen),
    Writer("library add", some_library, sources_added, library_seen),
    Writer("library remove", some_library, sources_removed, library_seen),
    Writer("library compact", changed_library, library_compacted, library_seen),
)
