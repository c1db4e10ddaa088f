"""The schedule of the learning rate, and which rate a parameter gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.loop.optimisation import rate
from training.run_config import TrainConfig


@given(
    st.integers(1, 200),
    st.integers(0, 250),
    st.sampled_from(["linear", "cosine", "none"]),
)
def test_the_rate_climbs_to_at_most_one_and_falls(steps: int, warmup: int, decay: str) -> None:
    config = TrainConfig(steps=steps, warmup=warmup, decay=decay)
    rates = [rate(step, config) for step in range(steps)]
    assert all(0 < r <= 1 for r in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    if decay != "none":
        assert rate(steps, config) == 0


def test_the_shapes() -> None:
    config = TrainConfig(steps=110, warmup=10)
    assert [rate(s, config) for s in (0, 4, 9, 10, 60)] == [0.1, 0.5, 1.0, 1.0, 0.5]
    config.decay = "cosine"
    assert rate(10, config) == 1.0
    assert rate(35, config) == pytest.approx(0.853553, abs=1e-6)
    assert rate(60, config) == pytest.approx(0.5)
    config.decay = "none"
    assert rate(4, config) == 0.5 and rate(109, config) == 1.0
