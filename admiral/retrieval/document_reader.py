"""The documents that a hop reads: of long ones, the sentences that may matter for the claim."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.kb import KnowledgeBase
from admiral.kb.bm25 import analysis
from admiral.kb.store.index_building import LONGEST_WHOLE
from admiral.records import Document, Sentence
from admiral.reranking.long_documents import SentenceSelection, share_characters

# Number of passages of a document among which its sentences are chosen, at 32 sentences each.
_PASSAGES = 4
# Weight of the terms of the claim, relative to those of the evidence only.
_CLAIM_WEIGHT = 2


class PassageReader:
    """Read the sentences of documents that match a claim and the evidence chosen so far.

    Sentences come from the best passages of a document, by BM25. If a document has too many, those
    that share terms of high inverse document frequency with the claim are taken. So the text that
    rerankers read at a hop is bounded, however long the documents are. Documents that are short
    enough to be indexed as a whole keep all of their sentences, up to `max_sentences`.

    Parameters
    ----------
    kb
        The knowledge base.
    max_sentences
        Maximum number of sentences of a document.
    max_characters
        Maximum number of characters of all long documents of a hop together, in proportion to their
        number among the documents. If they have more, the longest are shortened further; each keeps
        one sentence in any case.
    """

    def __init__(self, kb: KnowledgeBase, max_sentences: int, max_characters: int) -> None:
        self._kb, self._terms = kb, analysis.terms
        self._max_sentences, self._max_characters = max_sentences, max_characters

    def read(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        titles: Sequence[Sequence[str]],
    ) -> list[list[Document]]:
        """Return the documents with these titles, the sentences that are not read blank."""
        return [self._read(*each) for each in zip(claims, evidence, titles, strict=True)]

    def _read(
        self, claim: str, evidence: Sequence[Sentence], titles: Sequence[str]
    ) -> list[Document]:
        # A term that a query repeats counts each time.
        query = " ".join([*[claim] * _CLAIM_WEIGHT, *(sentence.text for sentence in evidence)])
        weights = self._kb.inverse_document_frequencies(query)
        weights |= {t: _CLAIM_WEIGHT * weights[t] for t in set(self._terms(claim)) & weights.keys()}
        spans = self._kb.best_passages(query, titles, _PASSAGES)
        selections = [
            SentenceSelection(self._kb.document(title), own, weights, self._terms)
            for title, own in zip(titles, spans, strict=True)
        ]
        for selection in selections:
            selection.keep(self._max_sentences)
        long = [s for s in selections if s.document_length > LONGEST_WHOLE]
        if long:
            share_characters(long, self._max_characters * len(long) // len(selections))
        return [selection.document() for selection in selections]
