"""A reranker without training or model: BM25 over the sentences of a claim's candidates."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.kb.bm25.sparse import load_analysis
from admiral.kb.bm25.sparse_build import load_library
from admiral.records import Document, Sentence
from admiral.reranking.sentence_scores import readable, scored

# Sentences are of about one length, which therefore says little; other than in documents, a
# term's second occurrence says little too.
_K1, _B = 0.9, 0.4


class TermReranker:
    """Scores a sentence, read with its title, by BM25 with the claim as the query.

    How rare a term is counts among the sentences to be ranked: what all candidates share tells
    none of them from the others. The evidence chosen so far is not a part of the query.
    """

    def __init__(self) -> None:
        self._terms = load_analysis().terms

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with BM25 scores, best first."""
        return [self._rank(claim, found) for claim, found in zip(claims, documents, strict=True)]

    def _rank(self, claim: str, documents: Sequence[Document]) -> list[Sentence]:
        sentences = readable(documents)
        terms = [self._terms(f"{s.title} {s.text}") for s in sentences]
        return scored(sentences, self._scores(terms, self._terms(claim)))

    def _scores(self, sentences: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
        known = {term for terms in sentences for term in terms}
        wanted = [term for term in dict.fromkeys(query) if term in known]
        if not wanted:
            return [0.0] * len(sentences)
        index = load_library().BM25(k1=_K1, b=_B)
        index.index(list(map(list, sentences)), show_progress=False)
        scores: list[float] = index.get_scores(wanted).tolist()
        return scores
