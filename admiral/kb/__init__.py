"""Build, open, update and verify knowledge bases: memory-mapped directories of documents."""

from admiral.kb.build import BuildReport, build, demo_kb, locate
from admiral.kb.corpus.corpora import read_titles
from admiral.kb.info import KbInfo, info
from admiral.kb.knowledge_base import KnowledgeBase, UnknownTitleError
from admiral.kb.stored_embeddings import EmbeddingReport, embed
from admiral.kb.updating import UpdateReport, add, compact, remove
from admiral.kb.verify import verify

__all__ = [
    "BuildReport",
    "EmbeddingReport",
    "KbInfo",
    "KnowledgeBase",
    "UnknownTitleError",
    "UpdateReport",
    "add",
    "build",
    "compact",
    "demo_kb",
    "embed",
    "info",
    "locate",
    "read_titles",
    "remove",
    "verify",
]
