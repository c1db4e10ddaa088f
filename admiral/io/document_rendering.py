"""Documents, what a search finds, and judgements, as readable text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from admiral.io.claim_notes import claim_notes
from admiral.io.text_rendering import printable
from admiral.records import Document, ScoredTitle, Sentence, judgement_json
from proofs import Judgement


def document_record(document: Document) -> dict[str, Any]:
    """Return a document; fields that it does not have are left out."""
    record: dict[str, Any] = {"title": document.title, "sentences": document.sentences}
    for field in ("id", "links", "source", "sections"):
        if value := getattr(document, field):
            record[field] = value
    return record


def search_record(
    rank: int, scored: ScoredTitle, document: Document, sentence: Sentence | None
) -> dict[str, Any]:
    """Return a document that BM25 has found, with its rank and the sentence that matches best."""
    return {
        "rank": rank,
        "title": scored.title,
        **({"id": document.id} if document.id else {}),
        "score": round(scored.score, 6),
        "sentence_id": None if sentence is None else sentence.index,
        "text": None if sentence is None else sentence.text,
        **({"source": document.source} if document.source else {}),
    }


def ranking_record(
    documents: Sequence[ScoredTitle], sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """Return a ranking of documents and of sentences."""
    ranked = [{"title": d.title, "score": round(d.score, 9)} for d in documents]
    return {"documents": ranked, "sentences": [graph_sentence(each) for each in sentences]}


def set_record(summary: Mapping[str, Any], sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return the sizes of a set and the sentences of it that are shown."""
    return {**summary, "shown": [graph_sentence(each) for each in sentences]}


def graph_sentence(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence, with its score unless that is 0."""
    record: dict[str, Any] = {
        "title": sentence.title,
        "sentence_id": sentence.index,
        "text": sentence.text,
    }
    return {**record, "score": round(sentence.score, 9)} if sentence.score else record


def judgement_record(
    claim: str, evidence: Sequence[tuple[str, str]], judgement: Judgement
) -> dict[str, Any]:
    """Return the judgement of a claim with the (title, sentence) pairs that it was proved from."""
    record: dict[str, Any] = {
        "claim": claim,
        "evidence": [{"title": title, "text": text} for title, text in evidence],
        **judgement_json(judgement),
    }
    if notes := claim_notes(claim):
        record["warnings"] = list(notes)
    return record


def render_document(
    document: Document,
    *,
    origin: str | None = None,
    places: Sequence[str] = (),
    colour: bool = False,
    width: int = 100,
) -> str:
    """Render title, id, source and all numbered sentences, below the headings of sections.

    `places`: for each sentence, what stands before it, such as its page; none by default.
    """
    heading = printable(document.title)
    lines = [click.style(heading, bold=True) if colour else heading]
    if document.id:
        lines.append(_dim(f"id {printable(document.id)}", colour))
    if origin or document.source:
        lines.append(_dim(printable(origin or document.source), colour))
    digits = len(str(len(document.sentences)))
    section = ""
    for number, sentence in enumerate(document.sentences):
        if document.sections and document.sections[number] != section:
            section = document.sections[number]
            lines += ["", _dim(printable(section), colour)]
        if places and places[number]:
            sentence = f"[{places[number]}] {sentence}"
        lines += _numbered(f"{number:{digits + 2}}", sentence, colour, width)
    return "\n".join(lines) + "\n"


def render_search(
    found: Iterable[tuple[ScoredTitle, Sentence | None]], *, colour: bool = False, width: int = 100
) -> str:
    """Render ranked documents with their scores, each with a sentence and its number.

    The documents come best first, each with a sentence of it.
    """
    lines = []
    for rank, (scored, sentence) in enumerate(found, 1):
        title, score = printable(scored.title), f"({scored.score:.2f})"
        if colour:
            title, score = click.style(title, bold=True), _dim(score, colour)
        lines.append(f"{rank:2}. {title} {score}")
        if sentence is not None:
            lines += _numbered(f"    {sentence.index}", sentence.text, colour, width)
    return "\n".join(lines) + "\n"


def render_sentences(
    sentences: Iterable[Sentence], *, colour: bool = False, width: int = 100
) -> str:
    """Render sentences of several documents, each below its title, with their numbers."""
    lines = []
    for sentence in sentences:
        lines.append(_dim(f"  {printable(sentence.title)}", colour))
        lines += _numbered(f"    {sentence.index}", sentence.text, colour, width)
    return "".join(f"{line}\n" for line in lines)


def _numbered(number: str, sentence: str, colour: bool, width: int) -> list[str]:
    indent = len(number) + 2
    first, *others = textwrap.wrap(
        printable(sentence),
        max(width - indent, 20),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
    return [f"{_dim(number, colour)}  {first}".rstrip(), *(" " * indent + line for line in others)]


def _dim(text: str, colour: bool) -> str:
    return click.style(text, dim=True) if colour else text
