"""Scales: calibrated probabilities stay, others become so, and the best is found."""

from itertools import product

import numpy as np
import pytest
import torch

from proofs.verifier.label_scales import Scale
from proofs.verifier.reading import LABELS
from training.calibration import fit_scale, scaled
from training.data.examples import NOT_ENTAILMENT
from training.verification.example_batches import POSSIBLE
from training.verification.verifier_loss import marginal_losses, measure


@pytest.mark.parametrize("truth", [Scale(0.4, 0.0), Scale(1.0, -1.0), Scale(2.5, 2.0)])
def test_probabilities_become_calibrated(truth):
    rng = torch.Generator().manual_seed(0)
    right = (2 * torch.randn(4000, 3, generator=rng)).log_softmax(-1)
    drawn = torch.multinomial(right.exp(), 1, generator=rng).squeeze(1).tolist()
    # Every third example is only known not to be entailed, where that is so.
    names = [
        NOT_ENTAILMENT if at % 3 == 0 and label > 0 else LABELS[label]
        for at, label in enumerate(drawn)
    ]
    labels = torch.tensor([POSSIBLE[name] for name in names])
    wrong = right.clone()
    wrong[:, 1] -= truth.neutral
    wrong *= truth.temperature
    fitted = fit_scale(wrong, labels)
    assert fitted.temperature == pytest.approx(truth.temperature, rel=0.1)
    assert fitted.neutral == pytest.approx(truth.neutral, abs=0.2)

    def loss(temperature, neutral):
        return float(marginal_losses(scaled(wrong, temperature, neutral), labels).mean())

    grid = product(np.geomspace(0.1, 10, 40), np.linspace(-3, 3, 25))
    best = min(loss(float(t), float(n)) for t, n in grid)
    assert loss(fitted.temperature, fitted.neutral) <= best + 1e-6
    found = scaled(wrong, fitted.temperature, fitted.neutral)
    assert measure(names, found.double().exp().numpy())["ece"] < 0.03


def test_weights_count_as_repetitions():
    rng = torch.Generator().manual_seed(1)
    logits = torch.randn(60, 3, generator=rng)
    labels = torch.tensor([POSSIBLE[LABELS[at % 3]] for at in range(60)])
    weights = torch.tensor([1.0 + at % 2 for at in range(60)])
    twice = weights.long()
    repeated = fit_scale(logits.repeat_interleave(twice, 0), labels.repeat_interleave(twice))
    weighted = fit_scale(logits, labels, weights)
    assert weighted.neutral == pytest.approx(repeated.neutral, abs=1e-3)
    assert weighted.temperature == pytest.approx(repeated.temperature, rel=1e-2)


def test_it_stays_within_its_bounds():
    certain = torch.tensor([[0.9, 0.05, 0.05]] * 3).log()
    first, second, third = (POSSIBLE[name] for name in LABELS)
    for given in ([first] * 3, [second, third, second]):
        fitted = fit_scale(certain, torch.tensor(given))
        assert 0.01 <= fitted.temperature <= 100
        assert -10 <= fitted.neutral <= 10
