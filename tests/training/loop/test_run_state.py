"""Saved states of runs: round trip, and states that are refused."""

import io
import sys

import pytest
import torch
from torch import nn

from admiral.errors import AdmiralError
from tests.training.tiny import elsewhere, full_disk, prepare, train
from training.loop.run_files import RunFiles, TrainingState, load_state, open_state, save_state
from trie.safe_tokenizer import TASKS


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


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("shown"))


@pytest.mark.parametrize("shown", [io.StringIO(), Terminal()])
def test_losses_are_reported_as_lines_or_in_a_progress_bar(settings, shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", shown)
    config = elsewhere(settings, type(shown).__name__).changed(steps=4, eval_every=2)
    train(config, TASKS)
    text = shown.getvalue()
    assert ("4/4" in text) == shown.isatty()
    assert "step 4 of 4: generation" in text
    assert text.count("evaluated: score") == 2
    assert "8 prove, 4 rerank, 20 retrieve samples; 1 process on cpu" in text
    assert f"finished; the checkpoint is {config.out}" in text
