"""Saved states of runs: round trip, and states that are refused."""

import io
import sys

import pytest
import torch
from torch import nn

from admiral.errors import AdmiralError
from tests.training.tiny import elsewhere, prepare
from training.loop.run_files import RunOutput, TrainingState, load_tensors, read_state, save_state
from training.multitask.multitask_program import train
from trie.safe_tokenizer import TASKS


def trained(width=3):
    torch.manual_seed(width)
    module = nn.Linear(width, 2)
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    for _ in range(2):
        module(torch.ones(width)).sum().backward()
        optimizer.step()
    return module, optimizer


def test_a_state_round_trips(tmp_path):
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


def test_a_changed_weight_is_an_error(tmp_path):
    path = tmp_path / "state.safetensors"
    module, optimizer = trained()
    save_state(path, module, optimizer, TrainingState(step=1))
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert read_state(path) == TrainingState(step=1)
    with pytest.raises(AdmiralError, match=r"state\.safetensors: is damaged"):
        load_tensors(path, module, optimizer)


def test_a_state_of_another_model_is_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    save_state(path, *trained(), TrainingState())
    with pytest.raises(AdmiralError, match="belongs to another model"):
        load_tensors(path, *trained(4))
    with pytest.raises(AdmiralError, match="belongs to another model"):
        load_tensors(path, nn.Sequential(nn.Linear(3, 2)), trained()[1])


def test_a_log_is_truncated_after_a_step(tmp_path):
    output = RunOutput(tmp_path / "out")
    output.truncate_log(0)
    for step in (1, 2, 3):
        output.append_log({"step": step, "generation": 0.5})
    with output.log.open("a") as file:
        file.write('{"step": 4, "gen')  # killed in mid-line
    whole = output.log.read_bytes().split(b"\n")
    damaged = (b"garbage", b"\xff", b"[]", b'{"x": 1}', b'{"step": "2"', b"[" * 20_000)
    output.log.write_bytes(b"\n".join([*whole[:1], *damaged, *whole[1:]]))
    output.truncate_log(2)
    assert (
        output.log.read_text() == '{"step": 1, "generation": 0.5}\n{"step": 2, "generation": 0.5}\n'
    )


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
    assert ("step 4 of 4: generation" in text) != shown.isatty()
    assert text.count("evaluated: score") == 2
    assert "8 prove, 4 rerank, 20 retrieve samples; 1 process on cpu" in text
    assert f"finished; the checkpoint is {config.out}" in text
