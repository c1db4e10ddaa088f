"""Tell what documents and sentences come from: ids, files, lines, pages, sections, positions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from admiral.kb.corpus.files.file_types import file_type
from admiral.kb.knowledge_base import KnowledgeBase
from admiral.records import SECTION_SEPARATOR, Document, RetrievalResult, Sentence


def with_origins(result: RetrievalResult, kb: KnowledgeBase) -> RetrievalResult:
    """Return a result with the origins of its documents and sentences.

    Documents that were neither read from files nor have ids have no origin, so the result stays as
    it is.
    """
    if not kb.has_origins:
        return result
    documents: dict[str, Document] = {}

    def document(title: str) -> Document:
        if title not in documents:
            documents[title] = kb.document(title)
        return documents[title]

    def located(sentence: Sentence) -> Sentence:
        origin = document(sentence.title)
        return replace(
            sentence,
            source=origin.source,
            section=origin.sections[sentence.index] if origin.sections else "",
            offset=origin.offsets[sentence.index] if origin.offsets else None,
        )

    return replace(
        result,
        documents=tuple(
            replace(d, source=document(d.title).source, id=document(d.title).id)
            for d in result.documents
        ),
        evidence=tuple(map(located, result.evidence)),
        hops=tuple(replace(hop, evidence=tuple(map(located, hop.evidence))) for hop in result.hops),
    )


class Origin(NamedTuple):
    """The file, or the part of one, that a document was read from."""

    file: str  # path or URL of the file
    line: int | None  # line of the record in the file; None for a file that is a document
    # for each sentence, what names its part of the file, such as ``page 3``; "" if unknown
    places: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON form of ``admiral show``."""
        record: dict[str, Any] = {"file": self.file}
        if self.line is not None:
            record["line"] = self.line
        if any(self.places):
            record["places"] = [_place_json(place) for place in self.places]
        return record


def origin_of(document: Document) -> Origin | None:
    """Return where a document was read from, or None if its knowledge base does not say."""
    if document.file:
        return Origin(document.file, document.line, ())
    if not document.source:
        return None
    file, _, part = document.source.rpartition("#")
    if not (file and part and file_type(file)):
        file = document.source  # the name of a file may have this sign
    kind = file_type(file)
    places: tuple[str, ...] = ()
    if kind is not None and kind.part:
        outermost = (section.partition(SECTION_SEPARATOR)[0] for section in document.sections)
        places = tuple(
            heading if heading.startswith(f"{kind.part} ") else "" for heading in outermost
        )
    return Origin(file, None, places)


def _place_json(place: str) -> dict[str, Any] | None:
    """Return ``{"page": 3}`` for ``page 3``, ``{"sheet": "Costs"}`` for ``sheet Costs``."""
    kind, _, name = place.partition(" ")
    return {kind: int(name) if name.isdecimal() and kind != "sheet" else name} if place else None
