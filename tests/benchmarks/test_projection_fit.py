"""The loss of the map against that of EM, and what a map learns."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.projection_fit import (
    ProjectionSettings,
    RetrievalExample,
    contrastive_loss,
    fit_projection,
    project,
)


def unit(rows, width, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(rows, width, generator=generator), dim=-1)


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.02, 1))
def test_the_loss_is_as_defined(seed, count, temperature):
    rng = random.Random(seed)
    queries, passages = unit(count, 5, seed), unit(20, 5, seed + 1)
    examples = [
        RetrievalExample(
            at, tuple(rng.sample(range(20), rng.randint(1, 3))), tuple(rng.sample(range(20), 2))
        )
        for at in range(count)
    ]
    scores = (queries @ passages.T / temperature).double()
    best = [max(one.positives, key=lambda row: scores[one.query, row]) for one in examples]
    expected = 0.0
    for one, right in zip(examples, best, strict=True):
        negatives = ({*one.negatives, *best}) - set(one.positives)
        rows = sorted({right, *negatives})
        own = scores[one.query]
        expected += float(own[rows].logsumexp(0) - own[right]) / count
    found = contrastive_loss(queries, passages, examples, temperature)
    assert float(found) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_map_finds_a_rotation_and_strong_regularisation_forbids_it():
    passages = unit(60, 6, 0)
    rotation, _ = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(1)))
    queries = passages @ rotation
    examples = [RetrievalExample(at, (at,), ((at + 1) % 60,)) for at in range(60)]

    def right(weights):
        mapped = project(queries[40:], weights)
        found = (mapped @ passages.T).argmax(1)
        return float((found == torch.arange(40, 60)).float().mean())

    loose = ProjectionSettings(iterations=300, learning_rate=0.05, ridge=1e-4)
    strict = ProjectionSettings(iterations=50, learning_rate=0.05, ridge=1e6)
    fitted = fit_projection(queries, passages, examples[:40], loose)
    assert right(torch.zeros(6, 6)) < 0.5 < right(fitted)
    assert float(fit_projection(queries, passages, examples[:40], strict).abs().max()) < 0.2
