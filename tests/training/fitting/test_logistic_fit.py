"""Logistic regressions: known probabilities are recovered, and folds keep claims together."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.fitting.logistic_fit import fit_logistic, folds_by_claim

NAMES = ("a", "b", "constant")


def drawn(count: int, seed: int) -> tuple[list[dict[str, float]], torch.Tensor, torch.Tensor]:
    """Return rows, their classes, and the log-probabilities that the classes were drawn with."""
    rng = torch.Generator().manual_seed(seed)
    values = torch.randn(count, 2, generator=rng, dtype=torch.float64) * torch.tensor([1.0, 20.0])
    truth = torch.stack(
        [values[:, 0] * 1.5, 1 - values[:, 1] / 20, torch.zeros(count)], dim=1
    ).log_softmax(1)
    classes = torch.multinomial(truth.exp(), 1, generator=rng).squeeze(1)
    rows = [{"a": a, "b": b, "constant": 7.0} for a, b in values.tolist()]
    return rows, classes, truth


def log_probabilities(
    fitted: list[tuple[float, dict[str, float]]], rows: list[dict[str, float]]
) -> torch.Tensor:
    scores = [
        [bias + sum(weights[name] * row[name] for name in NAMES) for bias, weights in fitted]
        for row in rows
    ]
    return torch.tensor(scores, dtype=torch.float64).log_softmax(1)


@pytest.mark.parametrize("ambiguous", [False, True])
def test_the_probabilities_of_the_data_are_recovered(ambiguous: bool) -> None:
    rows, classes, truth = drawn(3000, seed=0)
    allowed = torch.nn.functional.one_hot(classes, 3).bool()
    if ambiguous:  # of every other example, it is only known that it is not of the first class
        blurred = (torch.arange(len(rows)) % 2 == 0) & (classes > 0)
        allowed[blurred] = torch.tensor([False, True, True])
    fitted = fit_logistic(rows, allowed, NAMES)
    found = log_probabilities(fitted, rows)
    assert (found.exp() - truth.exp()).abs().mean() < 0.03
    assert all(weights["constant"] == 0 for _, weights in fitted)


def test_a_separable_rule_has_finite_weights() -> None:
    rows = [{"a": float(at), "b": 0.0, "constant": 1.0} for at in range(-5, 6)]
    positive = torch.tensor([row["a"] > 0 for row in rows])
    fitted = fit_logistic(rows, torch.stack([~positive, positive], 1), NAMES)
    found = log_probabilities(fitted, rows)
    assert found.isfinite().all()
    assert torch.equal(found.argmax(1).bool(), positive)


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(0, 3))
def test_folds_partition_the_examples_by_claim(claims: list[str], seed: int) -> None:
    folds = list(folds_by_claim(claims, seed))
    assert len(folds) == (min(5, len(set(claims))) if len(set(claims)) > 1 else 0)
    if folds:
        assert sorted(at for _, own in folds for at in own) == list(range(len(claims)))
    for others, own in folds:
        assert sorted([*others, *own]) == list(range(len(claims)))
        assert not {claims[at] for at in others} & {claims[at] for at in own}
        assert others and own
