"""The sentences that rerankers read, and their order."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document, Sentence
from admiral.reranking.sentence_scores import best_first, non_blank_sentences, with_scores, z_scores


def test_blank_sentences_are_left_out_and_the_others_keep_their_indices() -> None:
    documents = [Document("b", ("x", " \n", "y")), Document("a", ("", "z"))]
    assert non_blank_sentences(documents) == [
        Sentence("b", 0, "x"),
        Sentence("b", 2, "y"),
        Sentence("a", 1, "z"),
    ]
    assert non_blank_sentences([]) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from([0.0, 1.0]))))
def test_sentences_are_sorted_by_score_title_and_index(
    rows: list[tuple[str, int, float]],
) -> None:
    sentences = [Sentence(title, index, "x") for title, index, _ in rows]
    ranked = with_scores(sentences, [score for *_, score in rows])
    keys = [(-s.score, s.title, s.index) for s in ranked]
    assert keys == sorted((-score, title, index) for title, index, score in rows)
    assert best_first(reversed(ranked)) == ranked


@given(st.dictionaries(st.text(max_size=2), st.floats(-100, 100), max_size=8))
def test_z_scores_have_mean_0_and_deviation_1_unless_all_are_equal(
    scores: dict[str, float],
) -> None:
    standardised = z_scores(scores)
    assert list(standardised) == list(scores)
    if not scores or statistics.pstdev(scores.values()) < 1e-3:
        return
    assert statistics.fmean(standardised.values()) == pytest.approx(0, abs=1e-6)
    assert statistics.pstdev(standardised.values()) == pytest.approx(1, abs=1e-6)


def test_equal_scores_have_z_scores_of_0() -> None:
    assert z_scores({"a": 3.0, "b": 3.0}) == {"a": 0.0, "b": 0.0}
    assert z_scores({}) == {}
