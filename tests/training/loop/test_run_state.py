"""Saved states of runs: round trip, and states that are refused."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from admiral.errors import AdmiralError
from tests.training.tiny import full_disk
from training.loop.run_files import RunFiles, TrainingState, load_state, open_state, save_state


def trained(width=3):
    torch.manual_seed(width)
    module = nn.Linear(width, 2)
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    for _ in range(2):
        module(torch.ones(width)).sum().backward()
        optimizer.step()
    return module, optimizer


def saved(tmp_path, **progress):
    """Return the files of a run with a saved state, its weights and its optimiser."""
    run = RunFiles(tmp_path / "out")
    module, optimizer = trained()
    save_state(run.state, module, optimizer, TrainingState(**progress))
    return run, module, optimizer


def test_a_state_round_trips(tmp_path):
    progress = {"step": 2, "position": 4, "seconds": 0.5, "metrics": {"score": 0.25}, "measured": 1}
    run, module, optimizer = saved(tmp_path, **progress, run={"seed": 1})
    other = nn.Linear(3, 2)
    theirs = torch.optim.AdamW(other.parameters(), fused=True)
    found = open_state(run, False, {"seed": 1}, {})
    assert found == TrainingState(**progress, run={"seed": 1})
    load_state(run.state, other, theirs)
    for mine, yours in zip(module.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, yours)
        assert optimizer.state[mine].keys() == theirs.state[yours].keys()
        assert all(torch.equal(optimizer.state[mine][k], v) for k, v in theirs.state[yours].items())
        mine.grad = yours.grad = torch.ones_like(mine)
    optimizer.step()
    theirs.step()
    assert torch.equal(module.weight, other.weight)
    assert open_state(run, True, {"seed": 2}, {}) == TrainingState(run={"seed": 2})


def test_states_of_earlier_versions_are_read(tmp_path):
    run = RunFiles(tmp_path / "out")
    run.folder.mkdir()
    names = [
        f"{kind}/{name}" for kind in ("weight", "exp_avg", "exp_avg_sq") for name in ("w", "b")
    ]
    tensors = {name: torch.full((2,), float(at)) for at, name in enumerate(names)}
    tensors |= {"step/w": torch.tensor(2.0), "step/b": torch.tensor(2.0)}
    progress = (
        '{"step": 2, "position": 8, "seconds": 1.5, "best": 0.5, "metrics": {"score": 0.5}, '
        '"measured": 2, "selection": {"dev": null}, "run": {"seed": 0}}'
    )
    save_file(tensors, run.state, metadata={"progress": progress})
    run.model.mkdir()
    state = open_state(run, False, {"seed": 0}, {"dev": None})
    assert (state.step, state.position, state.best, state.measured) == (2, 8, 0.5, 2)
    module = nn.ParameterDict({"w": torch.zeros(2), "b": torch.zeros(2)})
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    load_state(run.state, module, optimizer)
    assert module["b"].tolist() == [1, 1]
    moments = {key: value.tolist() for key, value in optimizer.state[module["b"]].items()}
    assert moments == {"step": 2, "exp_avg": [3, 3], "exp_avg_sq": [5, 5]}


def test_a_state_that_was_cut_off_is_an_error(tmp_path):
    run, _, _ = saved(tmp_path)
    run.state.write_bytes(run.state.read_bytes()[:-1])
    with pytest.raises(AdmiralError, match=r"state\.safetensors: is not the state of a run"):
        open_state(run, False, {}, {})


def test_a_state_of_another_model_is_refused(tmp_path):
    run, _, optimizer = saved(tmp_path)
    with pytest.raises(AdmiralError, match="belongs to another model"):
        load_state(run.state, *trained(4))
    with pytest.raises(AdmiralError, match="belongs to another model"):
        load_state(run.state, nn.Sequential(nn.Linear(3, 2)), optimizer)


def test_a_failed_save_keeps_the_previous_state(tmp_path):
    run, module, optimizer = saved(tmp_path)
    before = run.state.read_bytes()
    with full_disk(64), pytest.raises(AdmiralError, match=r"state\.safetensors: .* Free some disk"):
        save_state(run.state, module, optimizer, TrainingState(step=2))
    assert run.state.read_bytes() == before
    assert list(run.folder.iterdir()) == [run.state]
