"""The temperature of a verifier: its effect, and files that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from proofs.verifier.pair_verifier import Verifier
from proofs.verifier.temperature import (
    TEMPERATURE,
    Temperatures,
    read_temperature,
    read_temperatures,
    temperature_json,
)
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


def test_the_kind_of_evidence_decides() -> None:
    temperatures = Temperatures(2.0, 3.0, 4.0)
    one, other = ("Rome", "It is old."), ("Oslo", "It is cold.")
    kinds = [[], [one], [one, one], [one, other, one]]
    assert [temperatures.of(evidence) for evidence in kinds] == [2, 2, 3, 4]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"temperature": 2}', Temperatures(2.0, 2.0, 2.0)),
        ('{"document": 0.5, "documents": 3}', Temperatures(1.0, 0.5, 3.0)),
    ],
)
def test_one_temperature_or_one_of_each_kind(
    folder: Path, content: str, expected: Temperatures
) -> None:
    assert read_temperatures(folder) == Temperatures()
    (folder / TEMPERATURE).write_text(content)
    assert read_temperatures(folder) == expected


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"sentence": "1"}', "field 'sentence': expected a number; fit it anew"),
        ('{"documents": 1e9}', "field 'documents': 1000000000.0 is not from"),
        ('{"sentence": 1, "other": 1}', "field 'other' is unknown"),
        ("{}", "field 'temperature': expected a number"),
    ],
)
def test_bad_temperatures_are_named(folder: Path, content: str, says: str) -> None:
    (folder / TEMPERATURE).write_text(content)
    with pytest.raises(ValueError, match=rf"temperature\.json: {says}"):
        read_temperatures(folder)
