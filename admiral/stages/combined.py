"""A reranker that joins others: their scores, brought to one scale for each claim, are added."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence

from admiral.protocols import SentenceReranker
from admiral.records import Document, Sentence
from admiral.stages.scoring import scored


class CombinedReranker:
    """Adds the standard scores that several rerankers give to a sentence.

    A trained cross-encoder and the similarity of sentence embeddings err on different sentences.
    Their scales differ, so each one's scores are standardised over the sentences of the claim that
    it reads. A sentence of what it reads that it leaves out has its lowest score.

    Parameters
    ----------
    rerankers
        At least one; they read all documents.
    closer
        A slower one, which reads only the documents whose sentences the others find best. All
        sentences of the rest have its mean score.
    closer_documents
        How many documents of a claim it reads.
    """

    def __init__(
        self,
        rerankers: Sequence[SentenceReranker],
        closer: SentenceReranker | None = None,
        closer_documents: int = 0,
    ) -> None:
        if not rerankers:
            raise ValueError("no rerankers to combine")
        self._rerankers = tuple(rerankers)
        self._closer, self._closer_documents = closer, closer_documents

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return the sentences of each claim's documents with mean standard scores, best first."""
        each = [r.score(claims, documents, evidence) for r in self._rerankers]
        lists = [list(found) for found in zip(*each, strict=True)]
        if self._closer is None:
            return [_combine(found) for found in lists]
        near = [self._best(*pair) for pair in zip(documents, lists, strict=True)]
        last = self._closer.score(claims, near, evidence)
        return [
            _combine([*found, closer], {document.title for document in read})
            for found, closer, read in zip(lists, last, near, strict=True)
        ]

    def _best(
        self, documents: Sequence[Document], lists: Sequence[Sequence[Sentence]]
    ) -> list[Document]:
        """Return the documents of the best sentences, in the order of these."""
        by_title = {document.title: document for document in documents}
        titles = dict.fromkeys(sentence.title for sentence in _combine(lists))
        return [by_title[title] for title in list(titles)[: self._closer_documents]]


def _combine(
    lists: Sequence[Sequence[Sentence]], last_read: Collection[str] | None = None
) -> list[Sentence]:
    """Add standard scores; `last_read` holds the titles that the last list has read, if not all."""
    sentences = {(s.title, s.index): s for found in lists for s in found}
    totals = dict.fromkeys(sentences, 0.0)
    for place, found in enumerate(lists, start=1):
        scores = _standardised(found)
        lowest = min(scores.values(), default=0.0)
        read = last_read if place == len(lists) else None
        for key in totals:
            if read is None or key[0] in read:  # the rest has the mean, which is 0
                totals[key] += scores.get(key, lowest) / len(lists)
    return scored(list(sentences.values()), totals.values())


def _standardised(found: Sequence[Sentence]) -> dict[tuple[str, int], float]:
    if not found:
        return {}
    scores = [s.score for s in found]
    mean, spread = statistics.fmean(scores), statistics.pstdev(scores) or 1.0
    return {(s.title, s.index): (s.score - mean) / spread for s in found}
