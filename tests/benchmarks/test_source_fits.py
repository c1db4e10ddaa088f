"""Losses and ranks of the retrieval of sources."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.cited_pages import STRATEGIES, em_loss, positive_weights

_SCORES = st.lists(st.floats(-8, 8), min_size=1, max_size=5)


def _oracle(good, bad, weights):
    negatives = np.exp(np.asarray(bad)).sum()
    positives = np.exp(np.asarray(good))
    return float(-(np.asarray(weights) * np.log(positives / (positives + negatives))).sum())


def _weights(good, strategy):
    if strategy == "soft":
        return list(np.exp(good) / np.exp(good).sum())
    if strategy == "uniform":
        return [1 / len(good)] * len(good)
    chosen = int(np.argmax(good)) if strategy == "hard" else 0
    return [float(at == chosen) for at in range(len(good))]


def sides(claims):
    """Return the scores of claims, of which each is compared with its own, and both sides."""
    width = sum(len(good) + len(bad) for good, bad in claims)
    positives, negatives = torch.zeros(2, len(claims), width, dtype=torch.bool)
    scores, at = [], 0
    for number, (good, bad) in enumerate(claims):
        positives[number, at : at + len(good)] = True
        at += len(good)
        negatives[number, at : at + len(bad)] = True
        at += len(bad)
        scores += [*good, *bad]
    return torch.tensor(scores, dtype=torch.float64).expand(len(claims), -1), positives, negatives


@given(st.lists(st.tuples(_SCORES, _SCORES), min_size=1, max_size=3))
def test_losses_are_as_defined(claims):
    scores, positives, negatives = sides(claims)
    for strategy in ("hard", "soft", "first", "uniform"):
        expected = np.mean([_oracle(g, b, _weights(g, strategy)) for g, b in claims])
        assert float(em_loss(scores, positives, negatives, strategy)) == pytest.approx(expected)


GOOD = torch.tensor([[True, True, True, False, False]])


@pytest.mark.parametrize("strategy", ["hard", "first", "random"])
def test_other_positives_are_out_of_the_denominator(strategy):
    """Changing a positive that is not chosen changes neither the loss nor a gradient."""
    losses, gradients = [], []
    for other in (-1.0, 0.5):
        scores = torch.tensor([[1.0, other, other, 0.2, -0.3]], requires_grad=True)
        generator = torch.Generator().manual_seed(_seed_of_first())
        loss = em_loss(scores, GOOD, ~GOOD, strategy, generator=generator)
        loss.backward()
        assert scores.grad is not None
        losses.append(float(loss.detach()))
        gradients.append(scores.grad[0].tolist())
    assert losses[0] == losses[1]
    assert gradients[0] == gradients[1]
    assert gradients[0][1:3] == [0, 0]


def _seed_of_first():
    for seed in range(100):
        generator = torch.Generator().manual_seed(seed)
        if positive_weights(torch.zeros(1, 5), GOOD, "random", generator=generator)[0, 0] == 1:
            return seed
    raise AssertionError("no seed draws the first positive")


def test_the_weights_have_no_gradient_and_sum_to_one():
    scores = torch.tensor([[0.3, 2.0, -1.0, 4.0, 0.0]], requires_grad=True)
    for strategy in STRATEGIES:
        weights = positive_weights(scores, GOOD, strategy)
        assert not weights.requires_grad
        assert float(weights[GOOD].sum()) == pytest.approx(1)
        assert float(weights[~GOOD].sum()) == 0
    sharp = positive_weights(scores, GOOD, "soft", sharpness=1000.0)
    assert sharp[0].tolist() == pytest.approx([0, 1, 0, 0, 0])
