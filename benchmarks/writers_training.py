"""Writers of checkpoints and of what they are trained on, for the fault injection."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from click import ClickException

from admiral.convert.to_fairseq import hf_to_fairseq
from admiral.convert.to_hf import fairseq_to_hf
from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_checkpoint
from admiral.storage.atomic_files import write_atomically
from benchmarks.writer import ABSENT, Writer, files_seen
from benchmarks.writers_kb import nothing
from proofs.judges.calibrated import WEIGHTS, Weights
from tests.training import tiny
from training.data.parallel_text import TextPair, read_parallel_text, write_parallel_text
from training.data.samples import read_samples, write_samples
from training.multitask.multitask_program import train
from training.multitask.multitask_settings import TrainConfig
from training.warm_start import main as warm_start
from trie.model.safe_tokenizer import TASKS


def samples(folder: Path, count: int) -> None:
    """Write training samples."""
    write_samples(folder / "samples.jsonl", tiny.some_samples() * count)


def samples_seen(folder: Path) -> Any:
    """Count the samples that are there."""
    return sum(1 for _ in read_samples(folder / "samples.jsonl"))


def train_tiny(folder: Path) -> None:
    """Train a tiny model, or go on."""
    os.chdir(folder)
    train(TrainConfig(**json.loads((folder / "config.json").read_text())), TASKS)


def train_before(folder: Path) -> None:
    """Write what a tiny training run needs."""
    os.chdir(folder)
    settings = replace(tiny.prepare(Path()), steps=6, save_every=2, log_every=2, keep="last")
    (folder / "config.json").write_text(json.dumps(vars(settings)))


def training_seen(folder: Path) -> Any:
    """Load the checkpoint that is there, and return the checksum of its weights."""
    if not (folder / "out").exists():
        return ABSENT
    load_checkpoint(folder / "out")
    return files_seen(folder, ["out/model.safetensors", "out/rerank_head.safetensors"])


def weights(folder: Path, threshold: float) -> None:
    """Write weights of a judge."""
    text = replace(Weights.read(WEIGHTS), threshold=threshold).to_json()
    write_atomically(folder / "weights.json", [text.encode()])


def weights_seen(folder: Path) -> Any:
    """Read them."""
    return Weights.read(folder / "weights.json").threshold


def parallel(folder: Path, count: int) -> None:
    """Write parallel text."""
    pairs = (TextPair(f"source {n}", f"target {n}") for n in range(count))
    write_parallel_text(folder / "text", "train", pairs)


def parallel_seen(folder: Path) -> Any:
    """Read it."""
    if not all((folder / f"text/train.{side}").exists() for side in ("source", "target")):
        return ABSENT
    return [[pair.source, pair.target] for pair in read_parallel_text(folder / "text", "train")]


def warm(folder: Path) -> None:
    """Make the untrained model."""
    try:
        warm_start([str(folder / "out"), "--decoder-layers", "1"], standalone_mode=False)
    except ClickException as error:
        raise AdmiralError(str(error)) from error


def convert_before(folder: Path) -> None:
    """Write a checkpoint to convert, and one that is there."""
    tiny.write_hub_directory(folder / "hub")
    (folder / "out").mkdir()
    (folder / "out/file").write_text("old")


def convert(folder: Path) -> None:
    """Convert it to fairseq's layout."""
    hf_to_fairseq(folder / "hub", folder / "out", overwrite=True)


def convert_back(folder: Path) -> None:
    """Convert fairseq's layout to ours."""
    fairseq_to_hf(folder / "fairseq", folder / "out", overwrite=True)


def convert_back_before(folder: Path) -> None:
    """Write one of fairseq's layout."""
    convert_before(folder)
    hf_to_fairseq(folder / "hub", folder / "fairseq")


def convert_seen(folder: Path) -> Any:
    """Return what is there whole."""
    names = sorted(path.name for path in (folder / "out").iterdir())
    weights = [name for name in names if name.endswith((".safetensors", ".json", ".txt"))]
    return [names, files_seen(folder / "out", weights)]


def is_absent(seen: Any) -> bool:
    """Whether nothing is there: old and new parallel text never stand side by side."""
    return bool(seen == ABSENT)


WRITERS = (
    Writer("samples", partial(samples, count=1), partial(samples, count=40), samples_seen),
    Writer("train", train_before, train_tiny, training_seen, share=2),
    Writer("warm start", nothing, warm, training_seen, share=3),
    Writer(
        "weights",
        partial(weights, threshold=0.25),
        partial(weights, threshold=0.75),
        weights_seen,
    ),
    Writer(
        "parallel text",
        partial(parallel, count=9),
        partial(parallel, count=999),
        parallel_seen,
        between=is_absent,
    ),
    Writer("convert", convert_before, convert, convert_seen),
    Writer("convert back", convert_back_before, convert_back, convert_seen),
)
