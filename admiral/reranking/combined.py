"""A reranker that joins others: their scores, brought to one scale for each claim, are added."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from admiral.protocols import SentenceReranker
from admiral.records import Document, Sentence
from admiral.reranking.sentence_scores import scored, standings

_Key = tuple[str, int]


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
        joined = [[_standardised(found) for found in one] for one in zip(*each, strict=True)]
        if self._closer is not None:
            near = [self._best(*pair) for pair in zip(documents, joined, strict=True)]
            last = self._closer.score(claims, near, evidence)
            for one, found, read in zip(joined, last, near, strict=True):
                one.append(_standardised(found, {document.title for document in read}))
        return [_combine(one) for one in joined]

    def _best(self, documents: Sequence[Document], one: Sequence[_Standard]) -> list[Document]:
        """Return the documents of the best sentences, in the order of these."""
        by_title = {document.title: document for document in documents}
        titles = dict.fromkeys(sentence.title for sentence in _combine(one))
        return [by_title[title] for title in list(titles)[: self._closer_documents]]


class _Standard(NamedTuple):
    """The standard scores of a reranker for a claim's sentences.

    `read` holds the titles that it was given, None if these were all.
    """

    sentences: dict[_Key, Sentence]
    scores: dict[_Key, float]
    lowest: float
    read: Collection[str] | None

    def of(self, key: _Key) -> float:
        if self.read is not None and key[0] not in self.read:
            return 0.0  # the mean
        return self.scores.get(key, self.lowest)


def _standardised(found: Sequence[Sentence], read: Collection[str] | None = None) -> _Standard:
    sentences = {(s.title, s.index): s for s in found}
    scores = standings({key: s.score for key, s in sentences.items()})
    return _Standard(sentences, scores, min(scores.values(), default=0.0), read)


def _combine(joined: Sequence[_Standard]) -> list[Sentence]:
    """Add standard scores, in equal parts."""
    sentences = {key: s for one in joined for key, s in one.sentences.items()}
    totals = [sum(one.of(key) / len(joined) for one in joined) for key in sentences]
    return scored(list(sentences.values()), totals)
