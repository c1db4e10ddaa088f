"""Weights that make labels independent of the overlap of claim and evidence."""

import random
from collections import Counter

import pytest

from training.data.examples import Example
from training.data.overlap import FEATURES, LEAST, MOST, balanced_by_overlap, overlap_features

WORDS = [f"w{n}" for n in range(40)]


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


def made(shares, count=400, source="s"):
    """Return examples whose overlap depends on the label, with these chances of a shared word."""
    rng = random.Random(source)
    examples = []
    for label, share in shares.items():
        for _ in range(count):
            evidence = rng.sample(WORDS, 20)
            rest = [word for word in WORDS if word not in evidence]
            claim = [rng.choice(evidence if rng.random() < share else rest) for _ in range(8)]
            examples.append(example(" ".join(claim), " ".join(evidence), label, source))
    return examples


def means(examples):
    """Return the mean overlap of each label."""
    weights, sums = Counter(), Counter()
    for one in examples:
        weights[one.label] += one.weight
        sums[one.label] += one.weight * overlap_features(one)[0]
    return {label: sums[label] / weights[label] for label in weights}


def test_labels_get_the_same_overlap():
    examples = made({"entailment": 0.7, "contradiction": 0.6, "neutral": 0.5})
    balanced = balanced_by_overlap(examples)
    before, after = means(examples).values(), means(balanced).values()
    assert max(before) - min(before) > 0.15
    assert max(after) - min(after) < 0.05
    assert all(LEAST <= one.weight <= MOST for one in balanced)
    assert [one.claim for one in balanced] == [one.claim for one in examples]


def test_shares_of_labels_and_given_weights_are_kept():
    examples = [
        example(one.claim, one.evidence[0][1], one.label, weight=0.5)
        for one in made({"entailment": 0.65, "neutral": 0.55})
    ]
    balanced = balanced_by_overlap(examples)
    weights = Counter()
    for one in balanced:
        weights[one.label] += one.weight
    assert weights["entailment"] == pytest.approx(200, rel=0.05)
    assert weights["neutral"] == pytest.approx(200, rel=0.05)
