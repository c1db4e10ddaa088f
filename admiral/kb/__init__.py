"""The knowledge base: corpora in, one memory-mapped directory out."""

from admiral.kb.base import KnowledgeBase, UnknownTitleError
from admiral.kb.build import BuildReport, build
from admiral.kb.demo import demo_kb, locate
from admiral.kb.info import KbInfo, info
from admiral.kb.join import JoinReport, join
from admiral.kb.sources import read_titles
from admiral.kb.update import UpdateReport, add, compact, remove
from admiral.kb.verify import verify

__all__ = [
    "BuildReport",
    "JoinReport",
    "KbInfo",
    "KnowledgeBase",
    "UnknownTitleError",
    "UpdateReport",
    "add",
    "build",
    "compact",
    "demo_kb",
    "info",
    "join",
    "locate",
    "read_titles",
    "remove",
    "verify",
]
