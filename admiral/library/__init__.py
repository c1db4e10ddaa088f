"""Sources cut into passages: the collection in which citations are looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from admiral.library.library_changes import (
        LibraryChange,
        LibraryReport,
        add_sources,
        build_library,
        compact_library,
        embed_passages,
        remove_sources,
    )
    from admiral.library.library_info import LibraryInfo, describe_library, library_problems
    from admiral.library.open_library import Library
    from admiral.library.source_filters import SourceFilter
    from admiral.library.source_records import Passage, ScoredPassage, Source

__all__ = [
    "Library",
    "LibraryChange",
    "LibraryInfo",
    "LibraryReport",
    "Passage",
    "ScoredPassage",
    "Source",
    "SourceFilter",
    "add_sources",
    "build_library",
    "compact_library",
    "describe_library",
    "embed_passages",
    "library_problems",
    "remove_sources",
]

# The modules of public names, imported on first use: `admiral --help` must not wait for them.
_MODULES = {
    "Library": "open_library",
    "LibraryChange": "library_changes",
    "LibraryInfo": "library_info",
    "LibraryReport": "library_changes",
    "Passage": "source_records",
    "ScoredPassage": "source_records",
    "Source": "source_records",
    "SourceFilter": "source_filters",
    "add_sources": "library_changes",
    "build_library": "library_changes",
    "compact_library": "library_changes",
    "describe_library": "library_info",
    "embed_passages": "library_changes",
    "library_problems": "library_info",
    "remove_sources": "library_changes",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'admiral.library' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"admiral.library.{_MODULES[name]}"), name)
