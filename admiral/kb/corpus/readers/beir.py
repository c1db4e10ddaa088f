"""Parse BEIR's ``corpus.jsonl``: ``{"_id": ..., "title": ..., "text": ...}``."""

from __future__ import annotations

from typing import Any

from admiral.kb.corpus.readers.corpus_records import id_field, optional_string
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.records import Document


def parse_beir(value: dict[str, Any], where: str) -> Document:
    """Return the document of one BEIR record, with its id, which is also the title of one without.

    Many corpora of BEIR have no titles, or null for them, and some have equal ones. Ids may be
    numbers.
    """
    id, text = id_field(value, "_id", where), optional_string(value, "text", where)
    title = optional_string(value, "title", where) if "title" in value else ""
    return Document(title if title.strip() else id, tuple(split_sentences(text)), id=id)
