"""The temperature of a verifier: its effect, and files that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from proofs.verifier.pair_verifier import Verifier
from proofs.verifier.temperature import TEMPERATURE, read_temperature, temperature_json
from tests.proofs.verifier.tiny_classifier import TEXT, write_classifier_directory

CLAIMS, EVIDENCE = ["Rome is a city.", "Oslo"], [TEXT, "Oslo"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_classifier_directory(tmp_path / "model")


def predicted(folder: Path) -> torch.Tensor:
    return Verifier.open(folder, dtype=torch.float32).predict(CLAIMS, EVIDENCE).labels


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.25])
def test_outputs_are_divided_by_the_temperature(folder: Path, temperature: float) -> None:
    plain = predicted(folder)
    (folder / TEMPERATURE).write_text(temperature_json(temperature))
    assert read_temperature(folder) == temperature
    expected = (plain.log() / temperature).softmax(-1)
    torch.testing.assert_close(predicted(folder), expected)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", r"not a file of a temperature .*; fit it anew with training\.calibration, or delete"),
        ("[2]", "field 'temperature': expected a number; fit it anew"),
        ('{"temperature": true}', "field 'temperature': expected a number"),
        ('{"temperature": 0}', r"field 'temperature': 0 is not from 0\.01 to 100\.0"),
        ('{"temperature": NaN}', "field 'temperature': nan is not from"),
    ],
)
def test_bad_files_are_named(folder: Path, content: str, says: str) -> None:
    (folder / TEMPERATURE).write_text(content)
    with pytest.raises(ValueError, match=rf"temperature\.json: {says}"):
        Verifier.open(folder)
