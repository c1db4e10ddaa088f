"""Fits of a verifier in files of weights: what is written is read, and bad fields are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from proofs import Verdict
from proofs.judges.calibrated import WEIGHTS, Weights
from proofs.judges.verified_fits import (
    SUFFICIENCY_FEATURES,
    VERDICT_FEATURES,
    LinearScore,
    SufficiencyFit,
    VerdictFit,
)

numbers = st.floats(-50, 50)


def scores(names: tuple[str, ...]) -> st.SearchStrategy[LinearScore]:
    return st.builds(LinearScore, numbers, st.fixed_dictionaries(dict.fromkeys(names, numbers)))


sufficiency_fits = st.builds(SufficiencyFit, scores(SUFFICIENCY_FEATURES), st.floats(0, 1))
verdict_fits = st.builds(
    VerdictFit, st.fixed_dictionaries(dict.fromkeys(Verdict, scores(VERDICT_FEATURES)))
)


@given(st.none() | sufficiency_fits, st.none() | verdict_fits)
def test_fits_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    sufficiency: SufficiencyFit | None,
    verdicts: VerdictFit | None,
) -> None:
    path = tmp_path_factory.mktemp("fits") / "weights.json"
    fitted = replace(Weights.bundled(), sufficiency=sufficiency, verdicts=verdicts)
    path.write_text(fitted.to_json())
    assert Weights.read(path) == fitted


def test_the_bundled_weights_are_written_as_they_were_read() -> None:
    assert json.loads(Weights.bundled().to_json()) == json.loads(WEIGHTS.read_text())


@given(verdict_fits, st.fixed_dictionaries(dict.fromkeys(VERDICT_FEATURES, numbers)))
def test_verdicts_have_the_probabilities_of_a_softmax(
    fit: VerdictFit, features: dict[str, float]
) -> None:
    values = fit.probabilities(features)
    expected = torch.tensor(
        [fit.scores[verdict](features) for verdict in Verdict], dtype=torch.float64
    ).softmax(0)
    assert [values[verdict] for verdict in Verdict] == pytest.approx(expected.tolist(), abs=1e-12)


@given(sufficiency_fits, st.fixed_dictionaries(dict.fromkeys(SUFFICIENCY_FEATURES, numbers)))
def test_sufficiency_has_the_probability_of_its_log_odds(
    fit: SufficiencyFit, features: dict[str, float]
) -> None:
    log_odds = torch.tensor(fit.log_odds(features), dtype=torch.float64)
    assert fit.probability(features) == pytest.approx(float(log_odds.sigmoid()), abs=1e-12)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sufficiency": None}, "field 'sufficiency': expected an object"),
        ({"sufficiency": {"bias": 1}}, "field 'sufficiency.threshold': is missing"),
        ({"threshold": 2}, "field 'sufficiency.threshold': expected a probability"),
        ({"bias": "no"}, "field 'sufficiency.bias': expected a number"),
        ({"weights": {"score": 1}}, "field 'sufficiency.weights.decided': is missing"),
        ({"verdicts": {"SUPPORTS": {}}}, "field 'verdicts.NOT ENOUGH INFO': is missing"),
        ({"verdict": {}}, "field 'verdict': is unknown"),
    ],
)
def test_bad_fits_name_file_and_field(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "weights.json"
    log_odds = LinearScore(0.0, dict.fromkeys(SUFFICIENCY_FEATURES, 1.0))
    fitted = replace(Weights.bundled(), sufficiency=SufficiencyFit(log_odds, 0.5))
    record = json.loads(fitted.to_json())
    if change.keys() & {"threshold", "bias", "weights"}:
        change = {"sufficiency": record["sufficiency"] | change}
    path.write_text(json.dumps(record | change))
    with pytest.raises(ValueError, match=r"weights\.json: ") as error:
        Weights.read(path)
    assert says in str(error.value)
    assert str(error.value).endswith("; fit it anew")
