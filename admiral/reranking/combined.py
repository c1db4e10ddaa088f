"""Combine rerankers by the mean of their z-scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from admiral.protocols import SentenceReranker, claim_limits
from admiral.records import Document, Sentence
from admiral.reranking.sentence_scores import with_scores, z_scores

_Key = tuple[str, int]  # title and index of a sentence


class CombinedReranker:
    """Score each sentence by the mean of its z-scores from several rerankers.

    A trained cross-encoder and the similarity of sentence embeddings err on different sentences.
    Since their scales differ, the scores of each reranker are standardised over the sentences of a
    claim that it reads. A sentence that a reranker leaves out gets its lowest score.

    Parameters
    ----------
    rerankers
        At least one; they read all documents.
    closer
        A slower reranker that only reads the documents whose sentences the others rank highest.
        The sentences of other documents get its mean score.
    closer_documents
        Number of documents for each claim that `closer` reads.
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
        self.claim_limits = {
            name: limit
            for reranker in (*self._rerankers, closer)
            for name, limit in claim_limits(reranker).items()
        }

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return the sentences of each claim's documents with mean z-scores, best first."""
        results = [reranker.score(claims, documents, evidence) for reranker in self._rerankers]
        scores = [list(map(_standardise, claim)) for claim in zip(*results, strict=True)]
        if self._closer is not None:
            best = [self._best(*pair) for pair in zip(documents, scores, strict=True)]
            closer_results = self._closer.score(claims, best, evidence)
            for claim_scores, sentences, read in zip(scores, closer_results, best, strict=True):
                claim_scores.append(_standardise(sentences, {document.title for document in read}))
        return list(map(_combine, scores))

    def _best(
        self, documents: Sequence[Document], scores: Sequence[_StandardScores]
    ) -> list[Document]:
        """Return the documents of the best sentences, in the order of these sentences."""
        by_title = {document.title: document for document in documents}
        titles = dict.fromkeys(sentence.title for sentence in _combine(scores))
        return [by_title[title] for title in list(titles)[: self._closer_documents]]


class _StandardScores(NamedTuple):
    """The z-scores of one reranker for the sentences of a claim.

    `read` holds the titles that the reranker read; None if it read all.
    """

    sentences: dict[_Key, Sentence]
    scores: dict[_Key, float]
    lowest: float
    read: Collection[str] | None

    def score(self, key: _Key) -> float:
        if self.read is not None and key[0] not in self.read:
            return 0.0  # the mean
        return self.scores.get(key, self.lowest)


def _standardise(
    scored: Sequence[Sentence], read: Collection[str] | None = None
) -> _StandardScores:
    sentences = {(s.title, s.index): s for s in scored}
    scores = z_scores({key: s.score for key, s in sentences.items()})
    return _StandardScores(sentences, scores, min(scores.values(), default=0.0), read)


def _combine(scores: Sequence[_StandardScores]) -> list[Sentence]:
    """Return all sentences with the mean of their scores, best first."""
    sentences = {key: s for reranker in scores for key, s in reranker.sentences.items()}
    means = [sum(reranker.score(key) / len(scores) for reranker in scores) for key in sentences]
    return with_scores(list(sentences.values()), means)
