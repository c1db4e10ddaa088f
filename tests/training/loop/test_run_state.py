"""Saved states of runs: round trip, and states that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from admiral.errors import AdmiralError
from tests.training.tiny import full_disk
from training.loop.run_files import TrainingState, load_tensors, read_state, save_state


def trained(width: int = 3) -> tuple[nn.Linear, torch.optim.AdamW]:
    torch.manual_seed(width)
    module = nn.Linear(width, 2)
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    for _ in range(2):
        module(torch.ones(width)).sum().backward()
        optimizer.step()
    return module, optimizer


def test_a_state_round_trips(tmp_path: Path) -> None:
    module, optimizer = trained()
    state = TrainingState(
        step=2,
        position=4,
        seconds=0.5,
        best=0.25,
        metrics={"score": 0.25},
        measured=1,
        losses={"generation": [0.1, 3.0]},
        scaler={"scale": 2.0},
        run={"seed": 1},
    )
    path = tmp_path / "new" / "state.safetensors"
    assert read_state(path) is None
    save_state(path, module, optimizer, state)
    other = nn.Linear(3, 2)
    theirs = torch.optim.AdamW(other.parameters(), fused=True)
    assert read_state(path) == state
    load_tensors(path, other, theirs)
    for mine, yours in zip(module.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, yours)
        assert optimizer.state[mine].keys() == theirs.state[yours].keys()
        assert all(torch.equal(optimizer.state[mine][k], v) for k, v in theirs.state[yours].items())
        mine.grad = yours.grad = torch.ones_like(mine)
    optimizer.step()
    theirs.step()
    assert torch.equal(module.weight, other.weight)


def test_a_truncated_state_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    module, optimizer = trained()
    save_state(path, module, optimizer, TrainingState())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(AdmiralError, match=r"state\.safetensors: is not the state of a run"):
        read_state(path)


def test_a_changed_weight_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    module, optimizer = trained()
    save_state(path, module, optimizer, TrainingState(step=1))
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert read_state(path) == TrainingState(step=1)
    with pytest.raises(AdmiralError, match=r"state\.safetensors: is damaged"):
        load_tensors(path, module, optimizer)


def test_a_state_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, *trained(), TrainingState())
    with pytest.raises(AdmiralError, match="belongs to another model"):
        load_tensors(path, *trained(4))
    with pytest.raises(AdmiralError, match="belongs to another model"):
        load_tensors(path, nn.Sequential(nn.Linear(3, 2)), trained()[1])


def test_a_failed_save_keeps_the_previous_state(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, *trained(), TrainingState(step=1))
    before = path.read_bytes()
    with full_disk(64), pytest.raises(AdmiralError, match=r"state\.safetensors: .* Free some disk"):
        save_state(path, *trained(), TrainingState(step=2))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_temporary_files_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    (tmp_path / ".tmpAx3fUW").write_bytes(b"half")  # the name of a temporary file of safetensors
    save_state(path, *trained(), TrainingState())
    assert list(tmp_path.iterdir()) == [path]
