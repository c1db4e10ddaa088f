"""Add to a result what its documents and sentences come from: ids, files, sections, positions."""

from __future__ import annotations

from dataclasses import replace

from admiral.kb.knowledge_base import KnowledgeBase
from admiral.records import Document, RetrievalResult, Sentence


def with_origins(result: RetrievalResult, kb: KnowledgeBase) -> RetrievalResult:
    """Return a result with the origins of its documents and sentences.

    Parameters
    ----------
    result
        The result of one claim.
    kb
        The knowledge base that it was retrieved from. Documents that were neither read from files
        nor have ids have no origin, so the result stays as it is.
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
