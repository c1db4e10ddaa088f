"""Combining rerankers by the mean of their z-scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from admiral.records import Document, Sentence
from admiral.reranking.combined import CombinedReranker

Scores = dict[tuple[str, int], float]


class FakeReranker:
    """Returns given scores, and leaves out sentences without one."""

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
                for d in claim_documents
                for i, text in enumerate(d.sentences)
                if (d.title, i) in self._scores
            ]
            for claim_documents in documents
        ]


DOCUMENTS = [[Document("a", ("x", "y")), Document("b", ("z",))]]


def order(*scores: Scores) -> list[tuple[str, int]]:
    combined = CombinedReranker([FakeReranker(s) for s in scores])
    (sentences,) = combined.score(["claim"], DOCUMENTS, [[]])
    return [(s.title, s.index) for s in sentences]


def test_one_reranker_keeps_its_order() -> None:
    assert order({("a", 0): 1.0, ("a", 1): 9.0, ("b", 0): 5.0}) == [("a", 1), ("b", 0), ("a", 0)]


def test_scales_do_not_matter() -> None:
    wide = {("a", 0): 1000.0, ("a", 1): 0.0, ("b", 0): 900.0}
    narrow = {("a", 0): 0.1, ("a", 1): 0.0, ("b", 0): 0.3}
    assert order(wide, narrow)[0] == ("b", 0)


def test_a_sentence_that_a_reranker_leaves_out_gets_its_lowest_score() -> None:
    first = {("a", 0): 1.0, ("a", 1): 0.0, ("b", 0): 0.9}
    assert order(first, {("a", 1): 0.5, ("b", 0): 1.0}) == [("b", 0), ("a", 0), ("a", 1)]


def test_equal_scores_and_no_documents() -> None:
    same = {("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 1.0}
    assert order(same) == [("a", 0), ("a", 1), ("b", 0)]
    assert CombinedReranker([FakeReranker({})]).score(["claim"], [[]], [[]]) == [[]]
    with pytest.raises(ValueError, match="no rerankers"):
        CombinedReranker([])


class RecordingReranker(FakeReranker):
    """Records the titles that it reads."""

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        self.read = [
            [document.title for document in claim_documents] for claim_documents in documents
        ]
        return super().score(claims, documents, evidence)


ALL = {("a", 0): 1.0, ("a", 1): 0.0, ("b", 0): 0.9}


def test_the_closer_reranker_reads_only_the_best_documents() -> None:
    closer = RecordingReranker(ALL)
    documents = [*DOCUMENTS, list(reversed(DOCUMENTS[0])), []]
    combined = CombinedReranker(
        [FakeReranker({("a", 0): 0.1, ("a", 1): 0.2, ("b", 0): 1.0})], closer, 1
    )
    results = combined.score(["first", "second", "third"], documents, [[], [], []])
    assert closer.read == [["b"], ["b"], []]
    assert results[0] == results[1]
    assert results[2] == []


def test_sentences_that_the_closer_reranker_does_not_read_get_its_mean() -> None:
    cheap = {("a", 0): 1.0, ("a", 1): 0.5, ("b", 0): 0.0}
    combined = CombinedReranker([FakeReranker(cheap)], FakeReranker(ALL), 1)
    (sentences,) = combined.score(["claim"], DOCUMENTS, [[]])
    scores = {(s.title, s.index): s.score for s in sentences}
    # The z-scores of 1, 0.5 and 0 are ±1.22 and 0; those of the two sentences read are ±1.
    assert scores["a", 0] == pytest.approx((1.2247 + 1) / 2, abs=1e-3)
    assert scores["a", 1] == pytest.approx((0 - 1) / 2, abs=1e-3)
    assert scores["b", 0] == pytest.approx(-1.2247 / 2, abs=1e-3)


def test_a_closer_reranker_that_reads_everything_is_one_of_the_rerankers() -> None:
    cheap = {("a", 0): 0.3, ("a", 1): 0.5, ("b", 0): 0.0}
    (narrowed,) = CombinedReranker([FakeReranker(cheap)], FakeReranker(ALL), 9).score(
        ["c"], DOCUMENTS, [[]]
    )
    (joined,) = CombinedReranker([FakeReranker(cheap), FakeReranker(ALL)]).score(
        ["c"], DOCUMENTS, [[]]
    )
    assert narrowed == joined
