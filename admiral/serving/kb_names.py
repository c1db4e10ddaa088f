"""Names of the knowledge bases of a service, checked before models are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate


def kb_names(kbs: Sequence[str]) -> list[str]:
    """Return the names of knowledge bases, the last parts of their paths.

    Raises
    ------
    AdmiralError
        If two have the same name.
    """
    names = [Path(kb).resolve().name for kb in kbs]
    for name in names:
        if names.count(name) > 1:
            raise AdmiralError(f"--kb: two knowledge bases are named {name!r}. Rename a directory")
    return names


def check_kbs(kbs: Sequence[str], config: RetrievalConfig) -> None:
    """Check the settings, and that knowledge bases can be opened.

    Raises
    ------
    AdmiralError
        If a setting is invalid, two knowledge bases have the same name, or one cannot be opened.
    """
    config.validate()
    kb_names(kbs)
    for kb in kbs:
        KnowledgeBase.open(locate(kb), bm25=None if config.bm25 == "auto" else config.bm25).close()
