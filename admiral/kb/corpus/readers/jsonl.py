"""Parse our own format: JSON Lines with `title`, `sentences` or `text`, and optional `links`.

The text may be a string, or be given in parts (`admiral.kb.corpus.readers.nested_text`).
"""

from __future__ import annotations

from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import without_markup
from admiral.kb.corpus.readers.corpus_records import SKIP_BAD_REMEDY, string_field, string_list
from admiral.kb.corpus.readers.nested_text import CONTENT_FIELDS, nested_paragraphs
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.records import SECTION_SEPARATOR, Document


def parse_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record.

    The optional field `links` lists, for each of `sentences`, the titles that it links to.
    """
    title = string_field(value, "title", where)
    if value.get("sentences") is not None:
        sentences = string_list(value["sentences"], "sentences", where)
        return Document(title, tuple(sentences), _links(value, len(sentences), where))
    field = next((name for name in CONTENT_FIELDS if value.get(name) is not None), None)
    if field is None:
        raise RecordError(
            where, "sentences", "missing, and there is no field 'text' either", SKIP_BAD_REMEDY
        )
    if value.get("links"):
        raise RecordError(
            where,
            "links",
            f"given for a record with {field!r}; links belong to sentences",
            "Give the text as a list 'sentences', or leave 'links' out.",
        )
    sentences, sections = [], []
    for paragraph in nested_paragraphs(value[field], field, where):
        parts = list(split_sentences(paragraph.text))
        sentences += parts
        sections += [SECTION_SEPARATOR.join(paragraph.section)] * len(parts)
    return Document(title, tuple(sentences), sections=tuple(sections) if any(sections) else ())


def parse_wiki_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record whose sentences contain hyperlinks, ``[[Target|text]]``.

    Each becomes plain text and a link of the sentence, after those of the field `links`.
    """
    document = parse_jsonl(value, where)
    pairs = [without_markup(sentence) for sentence in document.sentences]
    text = value.get("text")
    text = text if isinstance(text, str) else " ".join(document.sentences)
    if value.get("sentences") is None and without_markup(text)[0] != text:
        raise RecordError(
            where,
            "text",
            "hyperlinks in a text that is not split into sentences",
            "Give the text as a list 'sentences', or use the format jsonl.",
        )
    given = document.links or ((),) * len(pairs)
    links = tuple((*titles, *targets) for titles, (_, targets) in zip(given, pairs, strict=True))
    return Document(
        document.title, tuple(text for text, _ in pairs), links, sections=document.sections
    )


def _links(value: dict[str, Any], count: int, where: str) -> tuple[tuple[str, ...], ...]:
    links = value.get("links")
    if not links:
        return ()
    if not isinstance(links, list) or len(links) != count:
        given = f"{len(links)} lists" if isinstance(links, list) else "not a list"
        raise RecordError(
            where,
            "links",
            f"{given} for {count} sentences",
            "Give one list of titles for each sentence, or leave the field out.",
        )
    return tuple(tuple(string_list(row, "links", where)) for row in links)
