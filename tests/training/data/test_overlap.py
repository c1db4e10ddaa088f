"""Features of the overlap of claim and evidence."""

import pytest

from training.data.examples import Example
from training.data.overlap import FEATURES, overlap_features


def example(claim, evidence, label="entailment", source="s", weight=1.0):
    return Example(claim, (("", evidence),), label, source, weight=weight)


def test_features_of_an_example():
    values = dict(
        zip(
            FEATURES,
            overlap_features(example("It did not sell 1,200 in 1999.", "It sold 1999 of them.")),
            strict=True,
        )
    )
    assert values["shared"] == pytest.approx(2 / 7)
    assert values["missing numbers"] == 1
    assert values["negations"] == 1
    same = dict(zip(FEATURES, overlap_features(example("A b c.", "A b c.")), strict=True))
    assert (same["shared"], same["in order"]) == (1, 1)
    assert overlap_features(example("", ""))[:3] == (0, 0, 0)
