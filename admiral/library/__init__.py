"""Sources that can be cited: pages in a knowledge base, found by URL and searched by passage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from admiral.library.library_changes import (
        LibraryChange,
        LibraryReport,
        add_sources,
        build_library,
        migrate_library,
        remove_sources,
    )
    from admiral.library.open_library import Library, SourceFilter
    from admiral.library.source_records import Passage, ScoredPassage, Source

__all__ = [
    "Library",
    "LibraryChange",
    "LibraryReport",
    "Passage",
    "ScoredPassage",
    "Source",
    "SourceFilter",
    "add_sources",
    "build_library",
    "migrate_library",
    "remove_sources",
]

# The modules of public names, imported on first use: `admiral --help` must not wait for them.
_MODULES = {
    "Library": "open_library",
    "LibraryChange": "library_changes",
    "LibraryReport": "library_changes",
    "Passage": "source_records",
    "ScoredPassage": "source_records",
    "Source": "source_records",
    "SourceFilter": "open_library",
    "add_sources": "library_changes",
    "build_library": "library_changes",
    "migrate_library": "library_changes",
    "remove_sources": "library_changes",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'admiral.library' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"admiral.library.{_MODULES[name]}"), name)
