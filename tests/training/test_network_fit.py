"""Fitted networks recover known rules and keep the constraints on their signs."""

import torch
from torch import nn

from proofs.judges.fitted_weights import network_score
from training.feature_fits import FitSettings, fit_network, row_mask

SETTINGS = FitSettings(units=4, iterations=200, learning_rate=0.05, ridge=1e-4)
NAMES = ("left", "right", "other")


def rows(count, seed=0):
    rng = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 5, (count,), generator=rng).tolist()
    return [10 * torch.rand(length, 3, generator=rng) + 3 for length in lengths]


def test_a_rule_is_recovered_by_units_for_raw_features():
    items = rows(300)
    truth = torch.tensor([float((one[:, 0] > one[:, 1] + 2).any()) for one in items])
    real = row_mask(items)
    last = []

    def loss(scores):
        last.append(scores.detach())
        highest = scores.masked_fill(~real, -1e4).max(1).values
        return nn.functional.binary_cross_entropy_with_logits(highest, truth)

    units, offset = fit_network(items, NAMES, loss, SETTINGS, with_offset=True)
    scores_of = [
        [network_score(units, dict(zip(NAMES, row, strict=True))) + offset for row in one.tolist()]
        for one in items
    ]
    right = [(max(one) > 0) == bool(t) for one, t in zip(scores_of, truth, strict=True)]
    assert sum(right) / len(right) > 0.95
    # The last step of the fit moved them a little.
    for one, scores in zip(scores_of, last[-1], strict=True):
        assert torch.allclose(torch.tensor(one), scores[: len(one)], atol=0.3)
    again = fit_network(items, NAMES, loss, SETTINGS, with_offset=True)
    assert again == (units, offset) and offset != 0
    other, none = fit_network(items, NAMES, loss, SETTINGS, seed=1)
    assert other != units and none == 0


def test_constrained_weights_and_votes_are_not_negative():
    items = rows(100)

    def loss(scores):
        return scores.square().mean() - scores.mean() + scores[:, 0].mean()

    units, _ = fit_network(items, NAMES, loss, SETTINGS, unconstrained=("other",))
    assert all(unit.vote >= 0 for unit in units)
    assert all(unit.weights[name] >= 0 for unit in units for name in ("left", "right"))
    assert any(unit.weights["other"] < 0 for unit in units)


def test_constant_features_have_no_weight():
    items = [torch.cat([one[:, :2], torch.full((len(one), 1), 1.1)], 1) for one in rows(50)]
    for some in (items, [items[0][:1]]):
        units, _ = fit_network(some, NAMES, lambda scores: scores.square().mean(), SETTINGS)
        assert all(unit.weights["other"] == 0 and abs(unit.bias) < 100 for unit in units)
