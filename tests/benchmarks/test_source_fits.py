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


@given(st.lists(st.tuples(_SCORES, _SCORES), min_size=1, max_size=3))
def test_losses_are_as_defined(claims):
    flat = []
    positives, negatives = [], []
    for good, bad in claims:
        positives.append(range(len(flat), len(flat) + len(good)))
        flat += good
        negatives.append(range(len(flat), len(flat) + len(bad)))
        flat += bad
    scores = torch.tensor(flat, dtype=torch.float64)
    for strategy in ("hard", "soft", "first", "uniform"):
        expected = np.mean([_oracle(g, b, _weights(g, strategy)) for g, b in claims])
        assert float(em_loss(scores, positives, negatives, strategy)) == pytest.approx(expected)


@pytest.mark.parametrize("strategy", ["hard", "first", "random"])
def test_other_positives_are_out_of_the_denominator(strategy):
    """Changing a positive that is not chosen changes neither the loss nor a gradient."""
    losses, gradients = [], []
    for other in (-1.0, 0.5):
        scores = torch.tensor([1.0, other, other, 0.2, -0.3], requires_grad=True)
        generator = torch.Generator().manual_seed(_seed_of_first())
        loss = em_loss(scores, [[0, 1, 2]], [[3, 4]], strategy, generator=generator)
        loss.backward()
        assert scores.grad is not None
        losses.append(float(loss.detach()))
        gradients.append(scores.grad.tolist())
    assert losses[0] == losses[1]
    assert gradients[0] == gradients[1]
    assert gradients[0][1:3] == [0, 0]


def _seed_of_first():
    for seed in range(100):
        weights = positive_weights(
            torch.zeros(3), "random", generator=torch.Generator().manual_seed(seed)
        )
        if weights[0] == 1:
            return seed
    raise AssertionError("no seed draws the first positive")


def test_the_weights_have_no_gradient_and_sum_to_one():
    scores = torch.tensor([0.3, 2.0, -1.0], requires_grad=True)
    for strategy in STRATEGIES:
        weights = positive_weights(scores, strategy)
        assert not weights.requires_grad
        assert float(weights.sum()) == pytest.approx(1)
    sharp = positive_weights(scores, "soft", sharpness=1000.0)
    assert sharp.tolist() == pytest.approx([0, 1, 0])


@pytest.mark.parametrize(("positives", "negatives"), [([[]], [[0]]), ([[0]], [[]])])
def test_claims_without_one_side(positives, negatives):
    with pytest.raises(ValueError, match="leave it out"):
        em_loss(torch.zeros(1), positives, negatives, "hard")
