"""A reranker that joins others: their scores, brought to one scale for each claim, are added."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from admiral.protocols import SentenceReranker
from admiral.records import Document, Sentence
from admiral.stages.scoring import scored


class CombinedReranker:
    """Adds the standard scores that several rerankers give to a sentence.

    A trained cross-encoder and the similarity of sentence embeddings err on different sentences.
    Their scales differ, so each one's scores are standardised over the sentences of the claim. A
    sentence that one of them leaves out has that one's lowest score.

    Parameters
    ----------
    rerankers
        At least one.
    """

    def __init__(self, rerankers: Sequence[SentenceReranker]) -> None:
        if not rerankers:
            raise ValueError("no rerankers to combine")
        self._rerankers = tuple(rerankers)

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return the sentences of each claim's documents with mean standard scores, best first."""
        each = [r.score(claims, documents, evidence) for r in self._rerankers]
        return [_combine(found) for found in zip(*each, strict=True)]


def _combine(lists: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    sentences = {(s.title, s.index): s for found in lists for s in found}
    totals = dict.fromkeys(sentences, 0.0)
    for found in lists:
        scores = _standardised(found)
        lowest = min(scores.values(), default=0.0)
        for key in totals:
            totals[key] += scores.get(key, lowest) / len(lists)
    return scored(list(sentences.values()), totals.values())


def _standardised(found: Sequence[Sentence]) -> dict[tuple[str, int], float]:
    if not found:
        return {}
    scores = [s.score for s in found]
    mean, spread = statistics.fmean(scores), statistics.pstdev(scores) or 1.0
    return {(s.title, s.index): (s.score - mean) / spread for s in found}
