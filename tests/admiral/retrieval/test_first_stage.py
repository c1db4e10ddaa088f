"""The fusion of BM25 with mentioned and generated titles."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.records import DocumentSet, ScoredTitle
from admiral.retrieval.first_stage import Bm25FirstStage, FusedFirstStage, fuse


class FakeIndex:
    """Return one ranking for every query."""

    def search(self, queries, k):
        return [[ScoredTitle(t, 9.0) for t in "abc"[:k]] for _ in queries]

    def close(self):
        pass


class FakeGenerator:
    """Generate one title at hop 0, with probability one half."""

    def expand(self, claims, evidence, hops):
        assert set(hops) == {0}
        assert not any(evidence)
        return [[DocumentSet(("c",), math.log(0.5))] for _ in claims]


def test_bm25_alone_ignores_mentions():
    (ranking,) = Bm25FirstStage(FakeIndex()).candidates(["x"], [["c"]], 2)
    assert ranking == [ScoredTitle("a", 9.0), ScoredTitle("b", 9.0)]


@pytest.mark.parametrize(
    ("mentions", "generated", "expected"),
    [
        ([], False, {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63}),
        (["m"], False, {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63, "m": 0.75 / 61}),
        ([], True, {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63 + 0.5 / 61}),
        (["c"], True, {"a": 1 / 61, "b": 1 / 62, "c": 1 / 63 + 1.25 / 61}),
    ],
)
def test_mentioned_and_generated_titles_add_to_the_votes_of_bm25(mentions, generated, expected):
    stage = FusedFirstStage(FakeIndex(), FakeGenerator() if generated else None)
    (ranking,) = stage.candidates(["x"], [mentions], 3)
    ranked = sorted(expected.items(), key=lambda item: -item[1])[:3]
    assert [hit.title for hit in ranking] == [title for title, _ in ranked]
    assert [hit.score for hit in ranking] == pytest.approx([score for _, score in ranked])


def test_a_certain_title_counts_like_rank_one():
    first, second = fuse(["a", "b"], [("b", 1.0)])
    assert (first.title, second.title) == ("b", "a")
    assert first.score == pytest.approx(1 / 62 + 1 / 61)
    assert second.score == pytest.approx(1 / 61)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8))
def test_improbable_titles_do_not_change_the_order(ranking):
    titles = [hit.title for hit in fuse(ranking, [("a", 1e-9), ("z", 1e-9)])]
    assert titles == [*ranking, *(t for t in ("a", "z") if t not in ranking)]


def test_ties_keep_the_order_of_first_occurrence():
    assert [hit.title for hit in fuse(["x"], [("a", 1.0)])] == ["x", "a"]
    assert fuse([], []) == []


class FakeGraph:
    """Rank "g" and "c" for every claim."""

    def rank(self, claims, evidence, k):
        assert not any(evidence)
        return [["g", "c"][:k] for _ in claims]


def test_documents_of_the_graph_vote_like_those_of_bm25():
    stage = FusedFirstStage(FakeIndex(), graph=FakeGraph())
    (ranking,) = stage.candidates(["x"], [[]], 4)
    assert [hit.title for hit in ranking] == ["c", "a", "g", "b"]
    assert ranking[0].score == pytest.approx(1 / 63 + 1 / 62)
    assert ranking[2].score == pytest.approx(1 / 61)
