"""Parse BEIR's ``corpus.jsonl``: ``{"_id": ..., "title": ..., "text": ...}``."""

from __future__ import annotations

from typing import Any

from admiral.errors import RecordError
from admiral.kb.corpus.readers.corpus_records import string_field
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.records import Document


def parse_beir(value: dict[str, Any], where: str) -> Document:
    """Return the document of one BEIR record; it is identified by its title, not its `_id`."""
    title, text = string_field(value, "title", where), string_field(value, "text", where)
    if not title.strip():
        raise RecordError(
            where,
            "title",
            "empty",
            "Documents are found by title: copy '_id' into it, or skip bad records with "
            "--skip-bad.",
        )
    return Document(title, tuple(split_sentences(text)))
