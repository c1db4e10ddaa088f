"""The fitted temperature is the best of a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training.data.verification_pairs import PAIR_LABELS
from training.verification.label_measures import measure
from training.verification.pair_model import label_losses
from training.verification.temperature_fit import at_temperature, fit_temperature


@pytest.mark.parametrize("truth", [0.4, 1.0, 2.5])
def test_probabilities_become_calibrated(truth: float) -> None:
    rng = torch.Generator().manual_seed(0)
    right = (2 * torch.randn(4000, 3, generator=rng)).log_softmax(-1)
    labels = torch.multinomial(right.exp(), 1, generator=rng).squeeze(1)
    # Every third pair is only known not to be entailed, where that is so.
    labels[(torch.arange(4000) % 3 == 0) & (labels > 0)] = PAIR_LABELS.index("not_entailment")
    wrong = (right * truth).log_softmax(-1)
    fitted = fit_temperature(wrong, labels)
    assert fitted == pytest.approx(truth, rel=0.1)

    def loss(temperature: float) -> float:
        return float(label_losses(at_temperature(wrong, temperature), labels).mean())

    assert loss(fitted) <= min(loss(float(t)) for t in np.geomspace(0.05, 20, 200)) + 1e-6
    names = [PAIR_LABELS[label] for label in labels]
    after = measure(names, at_temperature(wrong, fitted).double().exp().numpy())
    assert after["ece"] < 0.03


def test_it_stays_within_its_bounds() -> None:
    certain = torch.tensor([[0.9, 0.05, 0.05]] * 3).log()
    assert 0.01 <= fit_temperature(certain, torch.tensor([0, 0, 0])) < 0.5
    assert 2 < fit_temperature(certain, torch.tensor([1, 2, 1])) <= 100
