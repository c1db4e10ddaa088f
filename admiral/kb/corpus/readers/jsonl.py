"""Our own format: one JSON object a line with `title`, `sentences` or `text`, and `links`.

BEIR's ``corpus.jsonl`` (`_id`, `title`, `text`) is read here too.
"""

from __future__ import annotations

from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import without_markup
from admiral.kb.corpus.readers.base import SKIP_REMEDY, strings, text_field
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.records import Document


def parse_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record.

    `links` is optional: for each of `sentences`, a list of the titles that it links to.
    """
    title = text_field(value, "title", where)
    if value.get("sentences") is not None:
        sentences = strings(value["sentences"], "sentences", where)
        return Document(title, tuple(sentences), _links(value, len(sentences), where))
    if value.get("text") is None:
        raise RecordError(
            where, "sentences", "missing, and there is no field 'text' either", SKIP_REMEDY
        )
    if value.get("links"):
        raise RecordError(
            where,
            "links",
            "given for a record with 'text'; links belong to sentences",
            "Give the text as a list 'sentences', or leave 'links' out.",
        )
    return Document(title, tuple(split_sentences(text_field(value, "text", where))))


def parse_wiki_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record whose sentences hold hyperlinks, ``[[Target|text]]``.

    They become plain text, and the sentence's links, behind those of the field `links`.
    """
    document = parse_jsonl(value, where)
    pairs = [without_markup(sentence) for sentence in document.sentences]
    if value.get("sentences") is None and without_markup(value["text"])[0] != value["text"]:
        raise RecordError(
            where,
            "text",
            "hyperlinks in a text that is not split into sentences",
            "Give the text as a list 'sentences', or use the format jsonl.",
        )
    given = document.links or ((),) * len(pairs)
    links = tuple((*row, *found) for row, (_, found) in zip(given, pairs, strict=True))
    return Document(document.title, tuple(text for text, _ in pairs), links)


def parse_beir(value: dict[str, Any], where: str) -> Document:
    """Return the document of a BEIR record, which is known by its title."""
    title, text = text_field(value, "title", where), text_field(value, "text", where)
    if not title.strip():
        raise RecordError(
            where,
            "title",
            "empty",
            "Documents are found by title: copy '_id' into it, or skip bad records with "
            "--skip-bad.",
        )
    return Document(title, tuple(split_sentences(text)))


def _links(value: dict[str, Any], count: int, where: str) -> tuple[tuple[str, ...], ...]:
    links = value.get("links")
    if not links:
        return ()
    if not isinstance(links, list) or len(links) != count:
        found = f"{len(links)} lists" if isinstance(links, list) else "no list"
        raise RecordError(
            where,
            "links",
            f"{found} for {count} sentences",
            "Give one list of titles for each sentence, or leave the field out.",
        )
    return tuple(tuple(strings(row, "links", where)) for row in links)
