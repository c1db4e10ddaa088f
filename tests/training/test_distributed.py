"""Two processes (gloo) train the same weights as one process with as many batches per step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.tiny import elsewhere, lines, prepare, to_yaml, train
from trie.safe_tokenizer import TASKS


def train_in_two(config):
    """Train in two processes as ``torchrun --nproc_per_node 2`` does, and return the log."""
    path = to_yaml(config, Path(config.out).with_suffix(".yaml"))
    launcher = ("torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    done = subprocess.run(
        [sys.executable, "-m", *launcher, "-m", "training", "joint", "--config", str(path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
def test_two_processes_train_the_same_weights_as_one(tmp_path):
    """Covers gradients, dropout, evaluation, resuming, and losses averaged over processes."""
    one = elsewhere(prepare(tmp_path), "one").changed(
        gradient_accumulation_steps=4,
        dropout=0.1,
        eval_every=6,
        keep="best",
        export="fp32",
        save_every=4,
    )
    two = elsewhere(one, "two").changed(gradient_accumulation_steps=2, device="auto")
    train(one, TASKS)
    log = train_in_two(two.changed(minutes=1e-9))
    assert "2 processes on cpu" in log and "stopped after step 1" in log
    train_in_two(two)
    ours, theirs = lines(one), lines(two)
    assert [line.keys() for line in ours] == [line.keys() for line in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, rel=2e-3, abs=1e-4)
    weights = load_file(Path(one.out) / "model.safetensors")
    others = load_file(Path(two.out) / "model.safetensors")
    start = load_file(Path(one.start) / "model.safetensors")
    for name, value in weights.items():
        if name.endswith("k_proj.bias"):
            continue  # attention does not depend on it; its gradient is a rounding error
        torch.testing.assert_close(others[name], value, rtol=1e-3, atol=1e-4)
    moved = (
        weights["model.encoder.layers.0.fc1.weight"] - start["model.encoder.layers.0.fc1.weight"]
    )
    assert moved.abs().max() > 0.01
