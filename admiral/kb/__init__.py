"""Build, open and change knowledge bases: an SQLite file and what is derived from it."""

from admiral.kb.corpus.corpora import read_titles
from admiral.kb.info import KbInfo, check, holds_sources, info
from admiral.kb.knowledge_base import KnowledgeBase, UnknownTitleError
from admiral.kb.writing import (
    BuildReport,
    UpdateReport,
    add,
    build,
    demo_kb,
    embed,
    locate,
    remove,
)

__all__ = [
    "BuildReport",
    "KbInfo",
    "KnowledgeBase",
    "UnknownTitleError",
    "UpdateReport",
    "add",
    "build",
    "check",
    "demo_kb",
    "embed",
    "holds_sources",
    "info",
    "locate",
    "read_titles",
    "remove",
]
