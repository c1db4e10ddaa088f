"""The final ranking by weighed clues, and the file of its weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.ranking.document_scorer import Relevance
from admiral.ranking.features import CLUES
from admiral.records import RankedDocument
from proofs.judges.network import Unit

NUMBERS = st.floats(-5, 5)
ROWS = st.tuples(*[NUMBERS for _ in CLUES])
UNITS = st.builds(Unit, NUMBERS, NUMBERS, ROWS.map(lambda row: dict(zip(CLUES, row, strict=True))))
WEIGHTS = st.lists(UNITS, min_size=1, max_size=4).map(lambda units: Relevance(tuple(units)))


@given(WEIGHTS, st.lists(ROWS, max_size=6))
def test_documents_are_in_the_order_of_a_small_network(
    relevance: Relevance, rows: list[tuple[float, ...]]
) -> None:
    found = [RankedDocument(str(at), 0.5, at) for at in range(len(rows))]
    ranked = relevance.rank(found, {str(at): row for at, row in enumerate(rows)})
    weights = np.array([list(unit.weights.values()) for unit in relevance.units])
    biases, votes = np.array([(unit.bias, unit.vote) for unit in relevance.units]).T
    wanted = np.tanh(np.array(rows).reshape(-1, len(CLUES)) @ weights.T + biases) @ votes
    assert sorted(one.hop for one in ranked) == list(range(len(rows)))
    for one in ranked:
        assert one.title == str(one.hop)
        assert one.score == pytest.approx(wanted[one.hop], abs=1e-9)
    keys = [(-one.score, one.hop) for one in ranked]
    assert keys == sorted(keys)  # ties stay in the order that they came in


@given(WEIGHTS, st.integers(51, 60))
def test_documents_beyond_the_first_fifty_stay_behind_in_order(
    relevance: Relevance, count: int
) -> None:
    found = [RankedDocument(str(at), 1 / (1 + at), 0) for at in range(count)]
    clues = {one.title: tuple(float(at % 7) for _ in CLUES) for at, one in enumerate(found)}
    ranked = relevance.rank(found, clues)
    assert {one.title for one in ranked[:50]} == {one.title for one in found[:50]}
    assert [one.title for one in ranked[50:]] == [one.title for one in found[50:]]
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)


@given(relevance=WEIGHTS)
def test_what_is_written_is_read(relevance: Relevance, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("weights") / "ranking.json"
    path.write_text(relevance.to_json())
    assert Relevance.read(path) == relevance


def test_the_bundled_weights_prefer_what_all_hops_speak_for() -> None:
    least = dict.fromkeys(CLUES, 0.0) | {
        "standing_first": -1.0, "standing_last": -1.0, "probability": -13.8
    }  # fmt: skip
    most = dict.fromkeys(CLUES, 1.0) | {
        "first_stage": 1 / 6, "read_first": 1 / 6, "read_last": 1 / 6, "mentioned_last": 1 / 6,
        "standing_first": 2.0, "standing_last": 2.0, "probability": -0.1,
    }  # fmt: skip
    bundled = Relevance.bundled()
    assert bundled.score(tuple(most.values())) > bundled.score(tuple(least.values())) + 1


def test_by_the_bundled_weights_no_better_finding_counts_against_a_document() -> None:
    free = {"first_stage", "named", "named_early", "seen_last", "probability"}
    for unit in Relevance.bundled().units:
        assert unit.vote >= 0.0
        assert all(weight >= 0.0 for name, weight in unit.weights.items() if name not in free)


def test_bad_files_are_told_by_field(tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    good = json.loads(Relevance.bundled().to_json())

    def told(change: Callable[[Any], Any], message: str) -> None:
        content = json.loads(json.dumps(good))
        path.write_text(json.dumps(change(content)))
        with pytest.raises(AdmiralError, match=message) as caught:
            Relevance.read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith("fit it anew with training.ranking")

    def changed(name: str, value: Any) -> Callable[[Any], Any]:
        def change(content: Any) -> Any:
            content["units"][1]["weights" if name in CLUES else name] = (
                {**content["units"][1]["weights"], name: value} if name in CLUES else value
            )
            return content

        return change

    told(lambda content: [], ": expected an object; fit")
    told(lambda content: {"units": []}, "field 'units': expected a list")
    told(lambda content: {"units": [7]}, r"field 'units\[0\]': expected an object")
    told(changed("other", 1), r"'units\[1\].other': is unknown")
    told(changed("weights", {}), r"'units\[1\].weights.evidence_last': is missing")
    told(changed("named", "7"), r"'units\[1\].weights.named': expected a number")
    told(changed("named", True), r"'units\[1\].weights.named': expected a number")
    told(changed("vote", float("nan")), r"'units\[1\].vote': expected a number")
    told(changed("bias", 10**400), r"'units\[1\].bias': expected a number of at most 1,000,000")
    path.write_bytes(b"\xff{")
    with pytest.raises(AdmiralError, match="not a file of weights"):
        Relevance.read(path)
    path.unlink()
    with pytest.raises(AdmiralError, match="not a file of weights"):
        Relevance.read(path)
