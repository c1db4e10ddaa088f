"""Document features, compared with a slow computation of each feature by itself."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.records import (
    Claim,
    DocumentSet,
    Hop,
    Proximity,
    RankedDocument,
    ScoredTitle,
    Sentence,
)
from admiral.retrieval.document_scorer import (
    FEATURES,
    GRAPH_FEATURES,
    NetworkDocumentScorer,
    document_features,
)
from admiral.retrieval.fusion import rank_documents
from admiral.retrieval.state import SearchState
from proofs.judges.network import HiddenUnit

TITLES = st.text("abcdef", min_size=1, max_size=1)
LISTS = st.lists(TITLES, max_size=5)
PROXIMITIES = st.builds(Proximity, st.floats(-13, 0), st.floats(0, 1))


@st.composite
def states(draw: st.DrawFn) -> SearchState:
    """Draw a claim after any hops."""
    state = SearchState(Claim("1", "A claim."))
    state.candidates = [ScoredTitle(t, 0.0) for t in draw(st.lists(TITLES, unique=True))]
    state.claim_mentions = draw(LISTS)
    for number in range(draw(st.integers(0, 3))):
        if number:
            sets = draw(st.lists(st.tuples(TITLES, st.floats(-20, 0)), min_size=1, max_size=4))
            state.document_sets.append([DocumentSet((t,), score) for t, score in sets])
        scores = sorted(draw(st.lists(st.floats(-9, 9), max_size=5)), reverse=True)
        sentences = [Sentence(draw(TITLES), at, "x", score) for at, score in enumerate(scores)]
        title_scores = draw(st.dictionaries(TITLES, st.floats(-13, 0)))
        state.record_reading(sentences, title_scores)
        state.mentioned.append(draw(LISTS))
        state.proximity.append(draw(st.dictionaries(TITLES, PROXIMITIES)))
        chosen = tuple(sentences[: draw(st.integers(0, 3))])
        hop = Hop(number + 1, tuple(state.document_sets[-1]), chosen, None, False, 0.0)
        state.hops.append(hop)
    return state


def expected_features(state: SearchState, title: str) -> dict[str, float]:
    """Compute the features of one document, one after the other."""

    def reciprocal_rank(titles: list[str]) -> float:
        unique = list(dict.fromkeys(titles))
        return 1 / (6 + unique.index(title)) if title in unique else 0.0

    def reciprocal_position(titles: list[str]) -> float:
        return 1 / (1 + titles.index(title)) if title in titles else 0.0

    def z_score(best_scores: dict[str, float]) -> float:
        if title not in best_scores:
            return -1.0
        deviation = statistics.pstdev(best_scores.values())
        return (best_scores[title] - statistics.fmean(best_scores.values())) / (deviation or 1.0)

    hops = len(state.hops)
    last_read = state.read[-1] if state.read else []
    mentioned = state.mentioned[-1] if state.mentioned else []
    read_mentions = sorted((t for t in mentioned if t in last_read), key=last_read.index)
    evidence = [[s.title for s in hop.evidence] for hop in state.hops]
    last_sets = state.document_sets[-1] if hops > 1 else []
    probabilities = [math.exp(s.score) for s in last_sets if title in s.titles and s.score >= -12]
    floor = math.log(1e-6)
    near = state.proximity[-1].get(title) if hops else None
    return {
        "first_stage": reciprocal_rank([c.title for c in state.candidates or ()]),
        "named": float(title in state.claim_mentions),
        "named_early": reciprocal_position(state.claim_mentions),
        "read_first": reciprocal_rank([s.titles[0] for s in state.document_sets[0]])
        if hops
        else 0.0,
        "read_last": reciprocal_rank(last_read) if hops > 1 else 0.0,
        "mentioned_last": reciprocal_rank(
            read_mentions + [t for t in mentioned if t not in last_read]
        ),
        "evidence_last": reciprocal_position(evidence[-1]) if hops else 0.0,
        "evidence_share": sum(title in titles for titles in evidence) / max(hops, 1),
        "standing_first": z_score(state.best_scores[0]) if hops else -1.0,
        "standing_last": z_score(state.best_scores[-1]) if hops else -1.0,
        "seen_last": float(title in last_read),
        "mentioned_share": sum(title in titles for titles in state.mentioned) / max(hops, 1),
        "probability": math.log(sum(probabilities)) if probabilities else floor,
        "generative_first": state.title_scores[0].get(title, floor) if hops else floor,
        "generative_last": state.title_scores[-1].get(title, floor) if hops > 1 else floor,
        "near_evidence": near.arrivals if near else floor,
        "mentions_evidence": near.mentions if near else 0.0,
    }


@given(states())
def test_features_equal_those_computed_one_by_one(state: SearchState) -> None:
    features = document_features(state)
    ranked = rank_documents(
        state.document_sets,
        state.candidates or (),
        read=state.read,
        mentioned=state.mentioned,
        claim_mentions=state.claim_mentions,
    )
    assert {document.title for document in ranked} <= set(features)
    for title, values in features.items():
        expected = expected_features(state, title)
        for name, value in zip(FEATURES, values, strict=True):
            assert math.isclose(value, expected[name], abs_tol=1e-9), name


def test_a_claim_without_hops_has_no_features() -> None:
    assert document_features(SearchState(Claim("1", "A claim."))) == {}


NUMBERS = st.floats(-5, 5)
ROWS = st.tuples(*[NUMBERS for _ in FEATURES])
UNITS = st.builds(
    HiddenUnit, NUMBERS, NUMBERS, ROWS.map(lambda row: dict(zip(FEATURES, row, strict=True)))
)
SCORERS = st.lists(UNITS, min_size=1, max_size=4).map(
    lambda units: NetworkDocumentScorer(tuple(units))
)


@given(SCORERS, st.lists(ROWS, max_size=6))
def test_documents_are_ranked_by_the_output_of_the_network(
    scorer: NetworkDocumentScorer, rows: list[tuple[float, ...]]
) -> None:
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
def test_documents_after_the_first_fifty_keep_their_order(
    scorer: NetworkDocumentScorer, count: int
) -> None:
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
def test_weights_round_trip(scorer: NetworkDocumentScorer, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("weights") / "ranking.json"
    path.write_text(scorer.to_json())
    assert NetworkDocumentScorer.read(path) == scorer


@given(scorer=SCORERS, row=ROWS)
def test_weights_without_graph_features_score_as_before(
    scorer: NetworkDocumentScorer, row: tuple[float, ...], tmp_path_factory: Any
) -> None:
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


def test_the_bundled_weights_prefer_documents_with_high_features() -> None:
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


def test_bundled_weights_are_not_negative_but_for_free_features() -> None:
    free = {"first_stage", "named", "named_early", "seen_last", "probability"}
    for unit in NetworkDocumentScorer.bundled().units:
        assert unit.vote >= 0.0
        assert all(weight >= 0.0 for name, weight in unit.weights.items() if name not in free)


def test_errors_of_bad_files_name_the_field(tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    good = json.loads(NetworkDocumentScorer.bundled().to_json())

    def check_error(change: Callable[[Any], Any], message: str) -> None:
        content = json.loads(json.dumps(good))
        path.write_text(json.dumps(change(content)))
        with pytest.raises(AdmiralError, match=message) as caught:
            NetworkDocumentScorer.read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith("fit it anew with training.ranking")

    def changed(name: str, value: Any) -> Callable[[Any], Any]:
        def change(content: Any) -> Any:
            content["units"][1]["weights" if name in FEATURES else name] = (
                {**content["units"][1]["weights"], name: value} if name in FEATURES else value
            )
            return content

        return change

    check_error(lambda content: [], ": expected an object; fit")
    check_error(lambda content: {"units": []}, "field 'units': expected a list")
    check_error(lambda content: {"units": [7]}, r"field 'units\[0\]': expected an object")
    check_error(changed("other", 1), r"'units\[1\].other': is unknown")
    check_error(changed("weights", {}), r"'units\[1\].weights.evidence_last': is missing")
    check_error(changed("named", "7"), r"'units\[1\].weights.named': expected a number")
    check_error(changed("named", True), r"'units\[1\].weights.named': expected a number")
    check_error(changed("vote", float("nan")), r"'units\[1\].vote': expected a number")
    check_error(
        changed("bias", 10**400), r"'units\[1\].bias': expected a number of at most 1,000,000"
    )
    path.write_bytes(b"\xff{")
    with pytest.raises(AdmiralError, match="not a file of weights"):
        NetworkDocumentScorer.read(path)
    path.unlink()
    with pytest.raises(AdmiralError, match="not a file of weights"):
        NetworkDocumentScorer.read(path)


def test_weights_of_zero_are_not_read() -> None:
    bundled = NetworkDocumentScorer.bundled()
    assert bundled.reads(("probability",))
    units = tuple(replace(u, weights={**u.weights, "probability": 0.0}) for u in bundled.units)
    assert not NetworkDocumentScorer(units).reads(("probability",))
