"""The ranking of documents by votes and by their features, each computed one by one."""

import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.pipeline import build_result
from admiral.records import Claim, DocumentSet, Proximity, RankedDocument, ScoredTitle, Sentence
from admiral.retrieval.document_ranking import (
    FEATURES,
    GRAPH_FEATURES,
    HiddenUnit,
    NetworkDocumentScorer,
    cut_claim_warnings,
    document_features,
    rank_documents,
    ranked_documents,
)
from admiral.retrieval.state import SearchState
from tests.admiral.retrieval.fakes import (
    FakeDocumentScorer,
    FakeReranker,
    fake_stages,
    small_config,
)

TITLES = st.text("abcdef", min_size=1, max_size=1)
SETS = st.lists(
    st.builds(
        DocumentSet, st.lists(TITLES, min_size=1, max_size=3, unique=True).map(tuple), st.just(0.0)
    ),
    max_size=4,
)


def test_without_fusion_later_hops_come_before_earlier_ones_and_the_first_stage():
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
def test_each_document_is_ranked_once(hops, first):
    candidates = [ScoredTitle(t, 0.0) for t in first]
    ranking = [d.title for d in rank_documents(hops, candidates, fused=False)]
    expected = [t for sets in reversed(hops) for s in sets for t in s.titles] + first
    assert ranking == list(dict.fromkeys(expected))
    fused = rank_documents(hops, candidates)
    assert len({d.title for d in fused}) == len(fused) == len(ranking)
    assert {d.title for d in fused} == set(expected)
    assert [d.score for d in fused] == sorted((d.score for d in fused), reverse=True)


def test_hops_vote_by_reciprocal_rank_of_their_probabilities():
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
    votes = {"a": 1 / 7 + 1 / 6 + 1 / 8, "b": 1 / 6 + 1 / 7 + 1 / 7, "c": 1 / 6, "d": 1 / 9}
    assert [d.title for d in ranking] == ["b", "a", "c", "d"]
    for document in ranking:
        assert math.isclose(document.score, votes[document.title])
    assert {d.title: d.hop for d in ranking} == {"a": 1, "b": 0, "c": 2, "d": 2}


def test_improbable_sets_do_not_vote_but_are_ranked_last():
    hops = [
        [DocumentSet(("a",), 3.0)],
        [DocumentSet(("a", "b"), -2.0), DocumentSet(("z", "y"), -30.0)],
    ]
    ranking = rank_documents(hops, [ScoredTitle("c", 1.0)])
    assert [(d.title, d.hop) for d in ranking] == [("a", 2), ("c", 0), ("b", 2), ("z", 2), ("y", 2)]
    assert [d.score for d in ranking[-2:]] == [0.0, 0.0]


def test_the_reading_order_votes_from_the_second_hop_on_with_less_weight():
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


def test_each_document_found_that_the_claim_mentions_gets_a_vote():
    first = [ScoredTitle(t, 0.0) for t in "abc"]
    ranking = rank_documents([], first, claim_mentions=["c", "z"])
    assert [(d.title, d.hop) for d in ranking] == [("c", 0), ("a", 0), ("b", 0)]  # z was not found
    assert math.isclose(ranking[0].score, 1 / 8 + 1 / 6)


def test_every_hop_votes_for_the_documents_that_its_evidence_mentions():
    hops = [[DocumentSet(("a",), 3.0)], [DocumentSet(("a", "b"), -2.0)]]
    first = [ScoredTitle(t, 0.0) for t in "abc"]
    without = {d.title: d.score for d in rank_documents(hops, first)}
    ranking = rank_documents(hops, first, mentioned=[["c", "m"], ["c"]])
    scores = {d.title: d.score for d in ranking}
    assert set(scores) == {*"abcm"}
    assert scores["c"] > without["c"] + scores["m"] > without["c"]
    assert (scores["a"], scores["b"]) == (without["a"], without["b"])
    assert next(d for d in ranking if d.title == "m").hop == 1


def test_mentioned_documents_vote_in_the_order_of_the_next_reading():
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


LISTS = st.lists(TITLES, max_size=5)
PROXIMITIES = st.builds(Proximity, st.floats(-13, 0), st.floats(0, 1))


@st.composite
def states(draw):
    """Draw a claim after any hops."""
    state = SearchState(Claim("1", "A claim."))
    state.candidates = [ScoredTitle(t, 0.0) for t in draw(st.lists(TITLES, unique=True))]
    state.claim_mentions = draw(LISTS)
    for _ in range(draw(st.integers(0, 3))):
        sets = draw(st.lists(st.tuples(TITLES, st.floats(-20, 0)), min_size=1, max_size=4))
        state.next_sets = [DocumentSet((t,), score) for t, score in sets]
        scores = sorted(draw(st.lists(st.floats(-9, 9), max_size=5)), reverse=True)
        sentences = [Sentence(draw(TITLES), at, "x", score) for at, score in enumerate(scores)]
        chosen = tuple(sentences[: draw(st.integers(0, 3))])
        record = state.add_hop(sentences)
        record.hop, record.leading = replace(record.hop, evidence=chosen), chosen
        record.mentioned = draw(LISTS)
        record.proximity = draw(st.dictionaries(TITLES, PROXIMITIES))
    return state


def expected_features(state, title):
    """Compute the features of one document, one after the other."""

    def reciprocal_rank(titles):
        unique = list(dict.fromkeys(titles))
        return 1 / (6 + unique.index(title)) if title in unique else 0.0

    def reciprocal_position(titles):
        return 1 / (1 + titles.index(title)) if title in titles else 0.0

    def z_score(best_scores):
        if title not in best_scores:
            return -1.0
        deviation = statistics.pstdev(best_scores.values())
        return (best_scores[title] - statistics.fmean(best_scores.values())) / (deviation or 1.0)

    hops = len(state.records)
    last_read = list(state.hops[-1].read) if hops else []
    mentioned = state.records[-1].mentioned if hops else []
    read_mentions = sorted((t for t in mentioned if t in last_read), key=last_read.index)
    evidence = [[s.title for s in hop.evidence] for hop in state.hops]
    last_sets = state.records[-1].document_sets if hops > 1 else []
    probabilities = [math.exp(s.score) for s in last_sets if title in s.titles and s.score >= -12]
    floor = math.log(1e-6)
    near = state.records[-1].proximity.get(title) if hops else None
    return {
        "first_stage": reciprocal_rank([c.title for c in state.candidates or ()]),
        "named": float(title in state.claim_mentions),
        "named_early": reciprocal_position(state.claim_mentions),
        "read_first": reciprocal_rank([s.titles[0] for s in state.records[0].document_sets])
        if hops
        else 0.0,
        "read_last": reciprocal_rank(last_read) if hops > 1 else 0.0,
        "mentioned_last": reciprocal_rank(
            read_mentions + [t for t in mentioned if t not in last_read]
        ),
        "evidence_last": reciprocal_position(evidence[-1]) if hops else 0.0,
        "evidence_share": sum(title in titles for titles in evidence) / max(hops, 1),
        "standing_first": z_score(state.records[0].best_scores) if hops else -1.0,
        "standing_last": z_score(state.records[-1].best_scores) if hops else -1.0,
        "seen_last": float(title in last_read),
        "mentioned_share": sum(title in record.mentioned for record in state.records)
        / max(hops, 1),
        "probability": math.log(sum(probabilities)) if probabilities else floor,
        "near_evidence": near.arrivals if near else floor,
        "mentions_evidence": near.mentions if near else 0.0,
    }


@given(states())
def test_features_equal_those_computed_one_by_one(state):
    features = document_features(state)
    ranked = rank_documents(
        [record.document_sets for record in state.records],
        state.candidates or (),
        read=[hop.read for hop in state.hops],
        mentioned=[record.mentioned for record in state.records],
        claim_mentions=state.claim_mentions,
    )
    assert {document.title for document in ranked} <= set(features)
    for title, values in features.items():
        expected = expected_features(state, title)
        for name, value in zip(FEATURES, values, strict=True):
            assert math.isclose(value, expected[name], abs_tol=1e-9), name


NUMBERS = st.floats(-5, 5)
ROWS = st.tuples(*[NUMBERS for _ in FEATURES])
UNITS = st.builds(
    HiddenUnit, NUMBERS, NUMBERS, ROWS.map(lambda row: dict(zip(FEATURES, row, strict=True)))
)
SCORERS = st.lists(UNITS, min_size=1, max_size=4).map(
    lambda units: NetworkDocumentScorer(tuple(units))
)


@given(SCORERS, st.lists(ROWS, max_size=6))
def test_documents_are_ranked_by_the_output_of_the_network(scorer, rows):
    documents = [RankedDocument(str(at), 0.5, at) for at in range(len(rows))]
    ranked = scorer.rank(documents, {str(at): row for at, row in enumerate(rows)})
    weights = np.array([list(unit.weights.values()) for unit in scorer.units])
    biases, votes = np.array([(unit.bias, unit.vote) for unit in scorer.units]).T
    expected = np.tanh(np.array(rows).reshape(-1, len(FEATURES)) @ weights.T + biases) @ votes
    assert sorted(document.hop for document in ranked) == list(range(len(rows)))
    for document in ranked:
        assert document.title == str(document.hop)
        assert document.score == pytest.approx(expected[document.hop], abs=1e-9)
    keys = [(-document.score, document.hop) for document in ranked]
    assert keys == sorted(keys)  # ties keep their order


@given(SCORERS, st.integers(51, 60))
def test_documents_after_the_first_fifty_keep_their_order(scorer, count):
    documents = [RankedDocument(str(at), 1 / (1 + at), 0) for at in range(count)]
    features = {
        document.title: tuple(float(at % 7) for _ in FEATURES)
        for at, document in enumerate(documents)
    }
    ranked = scorer.rank(documents, features)
    assert {document.title for document in ranked[:50]} == {
        document.title for document in documents[:50]
    }
    assert [document.title for document in ranked[50:]] == [
        document.title for document in documents[50:]
    ]
    scores = [document.score for document in ranked]
    assert scores == sorted(scores, reverse=True)


@given(scorer=SCORERS)
def test_weights_round_trip(scorer, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "ranking.json"
    path.write_text(scorer.to_json())
    assert NetworkDocumentScorer.read(path) == scorer


@given(scorer=SCORERS, row=ROWS)
def test_weights_without_graph_features_score_as_before(scorer, row, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "ranking.json"
    content = json.loads(scorer.to_json())
    for unit in content["units"]:
        for name in GRAPH_FEATURES:
            del unit["weights"][name]
    path.write_text(json.dumps(content))
    read = NetworkDocumentScorer.read(path)
    assert not read.reads(GRAPH_FEATURES)
    # The sum of a unit has the earlier terms in their order, so no bit of it changes.
    values = dict(zip(FEATURES, row, strict=True))
    expected = 0.0
    for unit in content["units"]:
        total = sum(weight * values[name] for name, weight in unit["weights"].items())
        expected += unit["vote"] * math.tanh(unit["bias"] + total)
    assert read.score(row) == expected


def test_the_bundled_weights_prefer_documents_with_high_features():
    low = dict.fromkeys(FEATURES, 0.0) | {
        "standing_first": -1.0, "standing_last": -1.0,
        "probability": -13.8, "near_evidence": -13.8,
    }  # fmt: skip
    high = dict.fromkeys(FEATURES, 1.0) | {
        "first_stage": 1 / 6, "read_first": 1 / 6, "read_last": 1 / 6, "mentioned_last": 1 / 6,
        "standing_first": 2.0, "standing_last": 2.0, "probability": -0.1,
    }  # fmt: skip
    bundled = NetworkDocumentScorer.bundled()
    assert bundled.score(tuple(high.values())) > bundled.score(tuple(low.values())) + 1


def test_bundled_weights_are_not_negative_but_for_free_features():
    free = {"first_stage", "named", "named_early", "seen_last", "probability"}
    for unit in NetworkDocumentScorer.bundled().units:
        assert unit.vote >= 0.0
        assert all(weight >= 0.0 for name, weight in unit.weights.items() if name not in free)


def test_errors_of_bad_files_name_the_field(tmp_path):
    path = tmp_path / "ranking.json"
    good = json.loads(NetworkDocumentScorer.bundled().to_json())

    def check_error(change, message):
        content = json.loads(json.dumps(good))
        path.write_text(json.dumps(change(content)))
        with pytest.raises(AdmiralError, match=message) as caught:
            NetworkDocumentScorer.read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith("fit it anew with training.ranking")

    def changed(name, value):
        def change(content):
            content["units"][1]["weights" if name in FEATURES else name] = (
                {**content["units"][1]["weights"], name: value} if name in FEATURES else value
            )
            return content

        return change

    check_error(lambda content: [], r": \[\] should be an object; fit")
    check_error(lambda content: {"units": []}, "field 'units': .*should have at least 1")
    check_error(lambda content: {"units": [7]}, r"field 'units\[0\]': .*should be an object")
    check_error(changed("other", 1), r"'units\[1\].other': is unknown")
    check_error(changed("weights", {}), r"'units\[1\].weights': 'evidence_last' is missing")
    check_error(changed("named", "7"), r"'units\[1\].weights.named': .*should be a valid number")
    check_error(changed("named", True), r"'units\[1\].weights.named': .*should be a valid number")
    check_error(changed("vote", float("nan")), r"'units\[1\].vote': .*should be a finite number")
    check_error(
        changed("bias", 10**7), r"'units\[1\].bias': .*should be less than or equal to 1000000"
    )
    path.write_bytes(b"\xff{")
    with pytest.raises(AdmiralError, match="not a file of weights"):
        NetworkDocumentScorer.read(path)
    path.unlink()
    with pytest.raises(AdmiralError, match="not a file of weights"):
        NetworkDocumentScorer.read(path)


def test_weights_of_zero_are_not_read():
    bundled = NetworkDocumentScorer.bundled()
    assert bundled.reads(("probability",))
    units = tuple(replace(u, weights={**u.weights, "probability": 0.0}) for u in bundled.units)
    assert not NetworkDocumentScorer(units).reads(("probability",))


class Words:
    """A tokenizer whose tokens are words."""

    def encode_with_offsets(self, text):
        spans, start = [], 0
        for word in text.split(" "):
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return [0] * len(spans), spans


def one_hop():
    state = SearchState(Claim("7", "one two three"), [ScoredTitle(t, 1.0) for t in "abc"])
    sentences = [Sentence("b", 0, "B.", 2.0), Sentence("a", 0, "A.", 1.0)]
    record = state.add_hop(sentences)
    record.hop = replace(record.hop, evidence=(sentences[0],))
    record.leading = sentences[:1]
    state.stopped = "max_hops"
    return state


def test_a_result_holds_the_ranked_documents_and_the_last_evidence():
    state = one_hop()
    result = build_result(state, fake_stages(), small_config(top_k=2), Words())
    assert result.claim == state.claim
    assert [d.title for d in result.documents] == ["a", "b"]
    assert result.evidence == state.evidence
    assert result.hops == tuple(state.hops)
    assert (result.stopped, result.warnings) == ("max_hops", ())


def test_the_document_scorer_ranks_last():
    config = small_config()
    by_votes = ranked_documents(one_hop(), config, None)
    scorer = FakeDocumentScorer(0, 1.0)
    assert ranked_documents(one_hop(), config, scorer) == by_votes[::-1]


def test_the_setting_selects_the_rule():
    last_hop = ranked_documents(one_hop(), small_config(ranking="last-hop"), None)
    assert [(d.title, d.hop, d.score) for d in last_hop] == [
        ("b", 1, 1.0),
        ("a", 1, 1.0),
        ("c", 1, 1.0),
    ]
    assert last_hop != ranked_documents(one_hop(), small_config(), None)


@pytest.mark.parametrize(
    ("limits", "warnings"),
    [
        ({}, ()),
        ({"x": 3}, ()),
        ({"x": 2, "y": 3}, ("of the claim's 3 tokens x reads 2; cut from: 'three'",)),
        (
            {"x": 2, "y": 1},
            ("of the claim's 3 tokens y reads 1, x reads 2; cut from: 'two three'",),
        ),
    ],
)
def test_a_warning_names_the_models_that_cut_the_claim(limits, warnings):
    assert cut_claim_warnings("one two three", limits, Words()) == warnings


def test_a_warning_quotes_the_beginning_of_the_unread_part():
    (warning,) = cut_claim_warnings("a " + "b" * 61, {"x": 1}, Words())
    assert warning.endswith("cut from: '" + "b" * 60 + "…'")


def test_stages_state_the_limits():
    reranker = FakeReranker()
    reranker.claim_limits = {"the fake": 2}
    result = build_result(one_hop(), fake_stages(reranker=reranker), small_config(), Words())
    assert result.warnings == ("of the claim's 3 tokens the fake reads 2; cut from: 'three'",)
