"""Ranking documents by their features, and the file of the weights."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.ranking.document_scorer import NetworkDocumentScorer
from admiral.ranking.features import FEATURES, GRAPH_FEATURES
from admiral.records import RankedDocument
from proofs.judges.fitted_weights import HiddenUnit

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
