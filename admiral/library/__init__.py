"""Sources cut into passages: the collection in which citations are looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from admiral.library.library_build import LibraryReport, build_library
    from admiral.library.open_library import Library
    from admiral.library.source_records import Passage, ScoredPassage, Source

__all__ = [
    "Library",
    "LibraryReport",
    "Passage",
    "ScoredPassage",
    "Source",
    "build_library",
]

_MODULES = {
    "Library": "admiral.library.open_library",
    "LibraryReport": "admiral.library.library_build",
    "Passage": "admiral.library.source_records",
    "ScoredPassage": "admiral.library.source_records",
    "Source": "admiral.library.source_records",
    "build_library": "admiral.library.library_build",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'admiral.library' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
