"""Temperatures: calibrated probabilities stay, others become so, and the best is found."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from proofs.verifier.label_names import LABELS
from training.data.examples import NOT_ENTAILMENT
from training.verification.example_batches import POSSIBLE
from training.verification.label_measures import measure
from training.verification.temperature_fit import at_temperature, fit_temperature
from training.verification.verifier_loss import marginal_losses


@pytest.mark.parametrize("truth", [0.4, 1.0, 2.5])
def test_probabilities_become_calibrated(truth: float) -> None:
    rng = torch.Generator().manual_seed(0)
    right = (2 * torch.randn(4000, 3, generator=rng)).log_softmax(-1)
    drawn = torch.multinomial(right.exp(), 1, generator=rng).squeeze(1).tolist()
    # Every third example is only known not to be entailed, where that is so.
    names = [
        NOT_ENTAILMENT if at % 3 == 0 and label > 0 else LABELS[label]
        for at, label in enumerate(drawn)
    ]
    labels = torch.tensor([POSSIBLE[name] for name in names])
    wrong = (right * truth).log_softmax(-1)
    fitted = fit_temperature(wrong, labels)
    assert fitted == pytest.approx(truth, rel=0.1)

    def loss(temperature: float) -> float:
        return float(marginal_losses(at_temperature(wrong, temperature), labels).mean())

    assert loss(fitted) <= min(loss(float(t)) for t in np.geomspace(0.05, 20, 200)) + 1e-6
    after = measure(names, at_temperature(wrong, fitted).double().exp().numpy())
    assert after["ece"] < 0.03


def test_it_stays_within_its_bounds() -> None:
    certain = torch.tensor([[0.9, 0.05, 0.05]] * 3).log()
    first, second, third = (POSSIBLE[name] for name in LABELS)
    assert 0.01 <= fit_temperature(certain, torch.tensor([first] * 3)) < 0.5
    assert 2 < fit_temperature(certain, torch.tensor([second, third, second])) <= 100
