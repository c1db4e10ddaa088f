"""The training loop on a tiny model: it learns, and a killed run goes on exactly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BartConfig, BartForConditionalGeneration

from admiral.checkpoint import load_checkpoint, quiet
from admiral.stages.similarity import minilm_directory
from training.joint import TrainConfig, train
from training.samples import RerankDocument, RerankSample, RetrieveSample, write_samples
from training.warm_start import mini_tokenizer

TITLES = ["Rome", "Paris", "Oslo", "Bern"]


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A checkpoint of 16 dimensions, and samples, in `tmp_path`."""
    torch.manual_seed(0)
    tokenizer = mini_tokenizer(minilm_directory())
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=101,
        eos_token_id=102,
        decoder_start_token_id=102,
        forced_eos_token_id=None,
    )
    with quiet():
        BartForConditionalGeneration(config).save_pretrained(tmp_path / "start")
    tokenizer.save_pretrained(tmp_path / "start")
    samples: list[RetrieveSample | RerankSample] = [
        RetrieveSample(f"{title} is a city.", (), (), title) for title in TITLES * 8
    ]
    documents = tuple(
        RerankDocument(t, (f"{t} is a city.", "It rains."), (0,) if t == "Rome" else ())
        for t in TITLES
    )
    samples += [RerankSample("Rome is a city.", (), documents)] * 4
    write_samples(tmp_path / "samples.jsonl", samples)
    return tmp_path


def settings(folder: Path, out: str, steps: int) -> TrainConfig:
    return TrainConfig(
        start=str(folder / "start"),
        samples=str(folder / "samples.jsonl"),
        out=str(folder / out),
        steps=steps,
        batch_tokens=256,
        rerank_tokens=256,
        warmup=2,
        encoder_rate=1e-2,
        decoder_rate=1e-2,
        precision="no",
        save_every=3,
        log_every=5,
    )


def test_the_loss_falls_and_the_checkpoint_loads(
    start: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    train(settings(start, "out", 40))
    losses = [
        float(line.split('"pairs": ')[1].split(",")[0])
        for line in capfd.readouterr().err.splitlines()
        if "pairs" in line
    ]
    assert losses[-1] < 0.7 * losses[0]
    loaded = load_checkpoint(start / "out")
    assert loaded.head is not None
    weights = load_file(start / "out" / "model.safetensors")
    assert all(w.dtype == torch.float16 for w in weights.values())


def test_a_run_killed_by_the_system_goes_on_exactly(start: Path) -> None:
    train(settings(start, "whole", 12))
    values = repr(vars(settings(start, "parts", 12)))
    script = f"from training.joint import TrainConfig, train; train(TrainConfig(**{values}))"
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=start,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.DEVNULL,
    )
    saved = start / "parts" / "state.safetensors"
    deadline = time.monotonic() + 120
    while not saved.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert saved.exists()
    train(settings(start, "parts", 12))
    whole = load_file(start / "whole" / "model.safetensors")
    parts = load_file(start / "parts" / "model.safetensors")
    assert whole.keys() == parts.keys()
    for name, value in whole.items():
        torch.testing.assert_close(parts[name], value, rtol=0, atol=2e-3)
