"""The sum of standardised scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from admiral.records import Document, Sentence
from admiral.stages.combined import CombinedReranker

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
