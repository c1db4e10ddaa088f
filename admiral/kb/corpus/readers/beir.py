"""Parse BEIR's ``corpus.jsonl``: ``{"_id": ..., "title": ..., "text": ...}``."""

from __future__ import annotations

from typing import Any

from admiral.kb.corpus.readers.corpus_records import string_field
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.records import Document


def parse_beir(value: dict[str, Any], where: str) -> Document:
    """Return the document of one BEIR record, with its id, which is also the title of one without.

    Many corpora of BEIR have no titles, and some have equal ones.
    """
    id, text = string_field(value, "_id", where), string_field(value, "text", where)
    title = string_field(value, "title", where) if "title" in value else ""
    return Document(title if title.strip() else id, tuple(split_sentences(text)), id=id)
