"""Evidence as one text."""

import numpy as np
import pytest

from proofs.verifier import CALIBRATION, Calibration, Scale, calibration_json, read_calibration
from proofs.verifier.classifier_verifier import ClassifierVerifier
from tests.proofs.verifier.tiny_classifier import TEXT, write_classifier_directory

CLAIM, EVIDENCE = "Rome is a city.", [("", TEXT)]


@pytest.fixture
def folder(tmp_path):
    return write_classifier_directory(tmp_path / "model")


@pytest.mark.parametrize(("temperature", "neutral"), [(0.5, 0.0), (1.0, 1.5), (3.25, -2.0)])
def test_logits_are_scaled(folder, temperature, neutral):
    """Neutral is shifted for the whole alone."""
    (plain,) = ClassifierVerifier.open(folder).read([CLAIM], [EVIDENCE])
    fitted = Calibration(bare=Scale(temperature, neutral), documents=Scale(5.0))
    (folder / CALIBRATION).write_text(calibration_json(fitted))
    assert read_calibration(folder) == fitted
    (found,) = ClassifierVerifier.open(folder).read([CLAIM], [EVIDENCE])
    expected = plain.labels ** (1 / temperature)
    alone = expected / expected.sum()
    np.testing.assert_allclose(found.sentences[0], alone, rtol=1e-4)
    shifted = expected * [1, np.exp(neutral), 1]
    np.testing.assert_allclose(found.labels, shifted / shifted.sum(), rtol=1e-4)


def test_the_kind_of_evidence_decides():
    scales = [Scale(1.5), Scale(2.0), Scale(3.0), Scale(4.0)]
    one, other, bare = ("Rome", "It is old."), ("Oslo", "It is cold."), ("", "It is big.")
    kinds = [[], [bare], [bare, bare], [one], [one, one], [one, bare], [one, other, one]]
    found = [Calibration(*scales).of(evidence).temperature for evidence in kinds]
    assert found == [1.5, 1.5, 1.5, 2, 3, 4, 4]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", r"Invalid JSON: .*; fit it anew with training\.calibration, or delete"),
        ("[2]", "should be an object"),
        ('{"temperature": 2}', "field 'temperature': Unexpected"),
        ('{"sentence": 2}', "field 'sentence': Input should be an object"),
        ('{"sentence": {"bias": 2}}', r"field 'sentence\.bias': Unexpected"),
        ('{"sentence": {"neutral": true}}', r"'sentence\.neutral': Input should be a valid number"),
        ('{"sentence": {"temperature": 0}}', r"temperature': Input should be greater .* to 0\.01"),
        ('{"document": {"neutral": NaN}}', r"'document\.neutral': Input should be"),
    ],
)
def test_bad_files_are_named(folder, content, says):
    (folder / CALIBRATION).write_text(content)
    with pytest.raises(ValueError, match=rf"calibration\.json: .*{says}"):
        ClassifierVerifier.open(folder)
