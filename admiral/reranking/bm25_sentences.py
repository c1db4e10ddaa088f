"""Rerank sentences by BM25: needs no model and no training."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.kb.bm25 import analysis
from admiral.kb.bm25.bm25s_build import import_bm25s
from admiral.records import Document, Sentence
from admiral.reranking.sentence_scores import non_blank_sentences, with_scores

# Sentences vary little in length, and a second occurrence of a term adds little to the first.
_K1, _B = 0.9, 0.4


class BM25Reranker:
    """Score sentences, each with its title, by BM25 with the claim as the query.

    Document frequencies are counted over the sentences to be ranked, so that terms which all
    candidates share have little weight. The evidence chosen so far is not part of the query.
    """

    def __init__(self) -> None:
        self._terms = analysis.terms

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with BM25 scores, best first."""
        return [self._rank(claim, docs) for claim, docs in zip(claims, documents, strict=True)]

    def _rank(self, claim: str, documents: Sequence[Document]) -> list[Sentence]:
        sentences = non_blank_sentences(documents)
        terms = [self._terms(f"{s.title} {s.text}") for s in sentences]
        return with_scores(sentences, self._scores(terms, self._terms(claim)))

    def _scores(self, sentences: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
        vocabulary = {term for terms in sentences for term in terms}
        query_terms = [term for term in dict.fromkeys(query) if term in vocabulary]
        if not query_terms:
            return [0.0] * len(sentences)
        index = import_bm25s().BM25(k1=_K1, b=_B)
        index.index(list(map(list, sentences)), show_progress=False)
        scores: list[float] = index.get_scores(query_terms).tolist()
        return scores
