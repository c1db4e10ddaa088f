"""The sum of standardised scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from admiral.records import Document, Sentence
from admiral.reranking.combined import CombinedReranker

Scores = dict[tuple[str, int], float]


class Given:
    """Scores sentences as it was told; leaves out those that it was not told of."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        return [
            [
                Sentence(d.title, i, text, self._scores[d.title, i])
                for d in found
                for i, text in enumerate(d.sentences)
                if (d.title, i) in self._scores
            ]
            for found in documents
        ]


DOCUMENTS = [[Document("a", ("x", "y")), Document("b", ("z",))]]


def order(*scores: Scores) -> list[tuple[str, int]]:
    combined = CombinedReranker([Given(s) for s in scores])
    (found,) = combined.score(["claim"], DOCUMENTS, [[]])
    return [(s.title, s.index) for s in found]


def test_one_reranker_keeps_its_order() -> None:
    assert order({("a", 0): 1.0, ("a", 1): 9.0, ("b", 0): 5.0}) == [("a", 1), ("b", 0), ("a", 0)]


def test_scales_do_not_count() -> None:
    wide = {("a", 0): 1000.0, ("a", 1): 0.0, ("b", 0): 900.0}
    narrow = {("a", 0): 0.1, ("a", 1): 0.0, ("b", 0): 0.3}
    assert order(wide, narrow)[0] == ("b", 0)


def test_a_sentence_that_one_leaves_out_is_its_worst() -> None:
    first = {("a", 0): 1.0, ("a", 1): 0.0, ("b", 0): 0.9}
    assert order(first, {("a", 1): 0.5, ("b", 0): 1.0}) == [("b", 0), ("a", 0), ("a", 1)]


def test_equal_scores_and_no_documents() -> None:
    same = {("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 1.0}
    assert order(same) == [("a", 0), ("a", 1), ("b", 0)]
    assert CombinedReranker([Given({})]).score(["claim"], [[]], [[]]) == [[]]
    with pytest.raises(ValueError, match="no rerankers"):
        CombinedReranker([])


class Noting(Given):
    """Keeps the titles that it is asked about."""

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        self.read = [[document.title for document in found] for found in documents]
        return super().score(claims, documents, evidence)


ALL = {("a", 0): 1.0, ("a", 1): 0.0, ("b", 0): 0.9}


def test_the_closer_one_reads_the_best_documents_only() -> None:
    closer = Noting(ALL)
    documents = [*DOCUMENTS, list(reversed(DOCUMENTS[0])), []]
    combined = CombinedReranker([Given({("a", 0): 0.1, ("a", 1): 0.2, ("b", 0): 1.0})], closer, 1)
    found = combined.score(["one", "same", "none"], documents, [[], [], []])
    assert closer.read == [["b"], ["b"], []]
    assert found[0] == found[1] and found[2] == []


def test_sentences_that_the_closer_one_does_not_read_have_its_mean() -> None:
    cheap = {("a", 0): 1.0, ("a", 1): 0.5, ("b", 0): 0.0}
    combined = CombinedReranker([Given(cheap)], Given(ALL), 1)
    (found,) = combined.score(["claim"], DOCUMENTS, [[]])
    scores = {(s.title, s.index): s.score for s in found}
    # Standard scores of 1, 0.5, 0 are ±1.22 and 0; of the two sentences that are read, ±1.
    assert scores["a", 0] == pytest.approx((1.2247 + 1) / 2, abs=1e-3)
    assert scores["a", 1] == pytest.approx((0 - 1) / 2, abs=1e-3)
    assert scores["b", 0] == pytest.approx(-1.2247 / 2, abs=1e-3)


def test_a_closer_one_that_reads_all_is_one_of_them() -> None:
    cheap = {("a", 0): 0.3, ("a", 1): 0.5, ("b", 0): 0.0}
    (narrowed,) = CombinedReranker([Given(cheap)], Given(ALL), 9).score(["c"], DOCUMENTS, [[]])
    (joined,) = CombinedReranker([Given(cheap), Given(ALL)]).score(["c"], DOCUMENTS, [[]])
    assert narrowed == joined
