"""What stages of others may give as scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from admiral import AdmiralError
from admiral.records import DocumentSet, ScoredTitle, Sentence
from admiral.retrieval.score_checks import plain_scores


def test_numbers_of_any_kind_become_floats_and_floats_stay() -> None:
    whole, single = Sentence("A", 0, "a", 2), Sentence("A", 1, "b", np.float32(0.5))  # type: ignore[arg-type]
    found = plain_scores("reranker", [whole, single])
    assert [(s.key, s.score, type(s.score)) for s in found] == [
        (("A", 0), 2.0, float),
        (("A", 1), 0.5, float),
    ]
    assert plain_scores("reranker", found) == found
    assert plain_scores("reranker", found)[0] is found[0]


def test_minus_infinity_leaves_out() -> None:
    sets = [DocumentSet(("A",), -1.0), DocumentSet(("B",), -math.inf)]
    assert plain_scores("retriever", sets) == sets[:1]
    assert plain_scores("retriever", sets[1:]) == []


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_what_is_no_score_names_stage_and_place(score: float) -> None:
    with pytest.raises(AdmiralError, match=rf"'reranker': .* sentence 3 of 'A' is {score}; let"):
        plain_scores("reranker", [Sentence("A", 3, "", score)])
    with pytest.raises(AdmiralError, match=rf"'retriever': .* of 'A' \+ 'B' is {score}; let"):
        plain_scores("retriever", [DocumentSet(("A", "B"), score)])
    with pytest.raises(AdmiralError, match=rf"'first': .* of 'A' is {score}; let"):
        plain_scores("first", [ScoredTitle("A", score)])
