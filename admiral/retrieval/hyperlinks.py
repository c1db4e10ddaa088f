"""Hyperlinks for the hop retriever: what a sentence links to is read behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from admiral.protocols import HopRetriever
from admiral.records import Document, DocumentSet, Sentence


class Documents(Protocol):
    """Gives documents by title, as a knowledge base does."""

    def document(self, title: str) -> Document: ...


class LinkedRetriever:
    """A hop retriever that reads the titles that its evidence links to (paper, section 6).

    Parameters
    ----------
    retriever
        The one that is given the longer sentences.
    documents
        Where the links of a sentence are found; a corpus without any changes nothing.
    """

    def __init__(self, retriever: HopRetriever, documents: Documents) -> None:
        self._retriever, self._documents = retriever, documents

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return what the retriever finds for the sentences with their links behind them."""
        longer = [[self._with_links(s) for s in sentences] for sentences in evidence]
        return self._retriever.expand(claims, longer, hops)

    def _with_links(self, sentence: Sentence) -> Sentence:
        links = self._documents.document(sentence.title).links
        if not links or not links[sentence.index]:
            return sentence
        return replace(sentence, text=f"{sentence.text} {', '.join(links[sentence.index])}")
