"""Fusion of the rankings of all hops, and the ranking that lists the last hop first."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import DocumentSet, ScoredTitle
from admiral.retrieval.fusion import rank_documents

TITLES = st.text("abcdef", min_size=1, max_size=1)
SETS = st.lists(
    st.builds(
        DocumentSet, st.lists(TITLES, min_size=1, max_size=3, unique=True).map(tuple), st.just(0.0)
    ),
    max_size=4,
)


def test_without_fusion_later_hops_come_before_earlier_ones_and_the_first_stage() -> None:
    hops = [
        [DocumentSet(("a",), 3.0), DocumentSet(("b",), 2.0)],
        [DocumentSet(("b", "c"), -0.5), DocumentSet(("b", "d"), -0.7)],
    ]
    first = [ScoredTitle("e", 9.0), ScoredTitle("a", 8.0)]
    ranking = rank_documents(hops, first, fused=False)
    assert [(d.title, d.score, d.hop) for d in ranking] == [
        ("b", -0.5, 2),
        ("c", -0.5, 2),
        ("d", -0.7, 2),
        ("a", 3.0, 1),
        ("e", 9.0, 0),
    ]


@given(st.lists(SETS, max_size=3), st.lists(TITLES, max_size=6))
def test_each_document_is_ranked_once(hops: list[list[DocumentSet]], first: list[str]) -> None:
    candidates = [ScoredTitle(t, 0.0) for t in first]
    ranking = [d.title for d in rank_documents(hops, candidates, fused=False)]
    expected = [t for sets in reversed(hops) for s in sets for t in s.titles] + first
    assert ranking == list(dict.fromkeys(expected))
    fused = rank_documents(hops, candidates)
    assert len({d.title for d in fused}) == len(fused) == len(ranking)
    assert {d.title for d in fused} == set(expected)
    assert [d.score for d in fused] == sorted((d.score for d in fused), reverse=True)


def test_hops_vote_by_reciprocal_rank_of_their_probabilities() -> None:
    hops = [
        [DocumentSet(("a",), 3.0), DocumentSet(("b",), 2.0)],
        [
            DocumentSet(("a", "c"), math.log(0.4)),
            DocumentSet(("b", "d"), math.log(0.35)),
            DocumentSet(("b", "c"), math.log(0.2)),
        ],
    ]
    ranking = rank_documents(hops, [ScoredTitle("b", 9.0), ScoredTitle("a", 8.0)])
    # The second hop ranks c (0.6), b (0.55), a (0.4), d (0.35).
    votes = {
        "a": 1 / 7 + 1 / 6 + 1 / 8,
        "b": 1 / 6 + 1 / 7 + 1 / 7,
        "c": 1 / 6,
        "d": 1 / 9,
    }
    assert [d.title for d in ranking] == ["b", "a", "c", "d"]
    for document in ranking:
        assert math.isclose(document.score, votes[document.title])
    assert {d.title: d.hop for d in ranking} == {"a": 1, "b": 0, "c": 2, "d": 2}


def test_improbable_sets_do_not_vote_but_are_ranked_last() -> None:
    hops = [
        [DocumentSet(("a",), 3.0)],
        [DocumentSet(("a", "b"), -2.0), DocumentSet(("z", "y"), -30.0)],
    ]
    ranking = rank_documents(hops, [ScoredTitle("c", 1.0)])
    assert [(d.title, d.hop) for d in ranking] == [
        ("a", 2),
        ("c", 0),
        ("b", 2),
        ("z", 2),
        ("y", 2),
    ]
    assert [d.score for d in ranking[-2:]] == [0.0, 0.0]


def test_the_reading_order_votes_from_the_second_hop_on_with_less_weight() -> None:
    hops = [[DocumentSet(("a",), 3.0)], [DocumentSet(("a", "b"), -2.0)]]
    first = [ScoredTitle("a", 1.0)]
    without = {d.title: d.score for d in rank_documents(hops, first)}
    read = [["x", "y"], ["c", "b"]]  # hop 1's reading is in its document sets
    ranking = rank_documents(hops, first, read=read)
    scores = {d.title: d.score for d in ranking}
    assert set(scores) == {"a", "b", "c"}
    assert scores["a"] == without["a"]
    assert 0 < scores["c"] < 1 / 6
    assert without["b"] < scores["b"] < without["b"] + scores["c"]
    assert next(d for d in ranking if d.title == "c").hop == 2


def test_each_document_found_that_the_claim_mentions_gets_a_vote() -> None:
    first = [ScoredTitle(t, 0.0) for t in "abc"]
    ranking = rank_documents([], first, claim_mentions=["c", "z"])
    assert [(d.title, d.hop) for d in ranking] == [("c", 0), ("a", 0), ("b", 0)]  # z was not found
    assert math.isclose(ranking[0].score, 1 / 8 + 1 / 6)


def test_every_hop_votes_for_the_documents_that_its_evidence_mentions() -> None:
    hops = [[DocumentSet(("a",), 3.0)], [DocumentSet(("a", "b"), -2.0)]]
    first = [ScoredTitle(t, 0.0) for t in "abc"]
    without = {d.title: d.score for d in rank_documents(hops, first)}
    ranking = rank_documents(hops, first, mentioned=[["c", "m"], ["c"]])
    scores = {d.title: d.score for d in ranking}
    assert set(scores) == {*"abcm"}
    assert scores["c"] > without["c"] + scores["m"] > without["c"]
    assert (scores["a"], scores["b"]) == (without["a"], without["b"])
    assert next(d for d in ranking if d.title == "m").hop == 1


def test_mentioned_documents_vote_in_the_order_of_the_next_reading() -> None:
    mentioned = [["a", "b", "c", "d"], []]
    read = [["a"], ["d", "x", "b"]]
    ranking = rank_documents([], [], read=read, mentioned=mentioned)
    votes = {d.title: d.score for d in ranking if d.title != "x"}
    without = {d.title: d.score for d in rank_documents([], [], read=read)}
    gained = {title: score - without.get(title, 0.0) for title, score in votes.items()}
    assert sorted(gained, key=lambda title: -gained[title]) == ["d", "b", "a", "c"]
    # The last hop has no next one, so its own reading order counts.
    last = rank_documents([], [], read=[["a", "b"]], mentioned=[["b", "a"]])
    assert [d.title for d in last] == ["a", "b"]
