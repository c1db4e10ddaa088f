"""Citation verification (SIDE): does the cited source support the sentence, and which one would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from admiral.citations.citation_records import Citation, CitationVerdict, CitedClaim
    from admiral.citations.citation_settings import CitationConfig
    from admiral.citations.citer import Citer

__all__ = ["Citation", "CitationConfig", "CitationVerdict", "CitedClaim", "Citer"]

_MODULES = {
    "Citation": "admiral.citations.citation_records",
    "CitationConfig": "admiral.citations.citation_settings",
    "CitationVerdict": "admiral.citations.citation_records",
    "CitedClaim": "admiral.citations.citation_records",
    "Citer": "admiral.citations.citer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'admiral.citations' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
