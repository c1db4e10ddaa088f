"""Learning-rate schedules."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim.lr_scheduler import LambdaLR

from training.loop.optimisation import build_scheduler
from training.multitask.multitask_settings import TrainConfig


def scheduler(config: TrainConfig, step: int = 0) -> LambdaLR:
    weight = torch.nn.Parameter(torch.zeros(1))
    return build_scheduler(torch.optim.AdamW([weight], lr=config.encoder_lr), config, step)


def learning_rates(config: TrainConfig, first: int = 0) -> list[float]:
    """Return the learning rate of each step from `first` on, with a peak of 1."""
    schedule = scheduler(config, first)
    rates = []
    for _ in range(first, config.steps):
        rates.append(schedule.get_last_lr()[0])
        schedule.optimizer.step()
        schedule.step()
    return rates


@given(
    st.integers(1, 60),
    st.integers(0, 70),
    st.sampled_from(["linear", "cosine", "constant"]),
    st.data(),
)
def test_a_resumed_schedule_continues(
    steps: int, warmup: int, name: str, data: st.DataObject
) -> None:
    config = TrainConfig(steps=steps, warmup_steps=warmup, lr_schedule=name, encoder_lr=1.0)
    rates = learning_rates(config)
    assert all(0 <= rate <= 1 for rate in rates)
    peak = rates.index(max(rates))
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    resumed = data.draw(st.integers(0, steps - 1))
    assert learning_rates(config, resumed) == pytest.approx(rates[resumed:])


def test_known_values_of_each_schedule() -> None:
    config = TrainConfig(steps=110, warmup_steps=10, encoder_lr=1.0)
    rates = learning_rates(config)
    assert [rates[step] for step in (0, 5, 10, 60)] == [0.0, 0.5, 1.0, 0.5]
    config.lr_schedule = "cosine"
    assert learning_rates(config)[35] == pytest.approx(0.853553, abs=1e-6)
    config.lr_schedule = "constant"
    assert learning_rates(config)[109] == 1.0
