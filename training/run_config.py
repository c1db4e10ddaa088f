"""The settings of a training run; docs/training.md explains each of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from admiral.storage.yaml_settings import read_settings

TASKS = ("retrieve", "rerank", "prove")
# The metrics of each task, measured on development samples; the first one counts for `score`.
METRICS = {
    "retrieve": ("retrieve_top1", "retrieve_top5", "retrieve_found", "retrieve_mass"),
    "rerank": ("rerank_mrr", "rerank_recall5"),
    "prove": (
        "prove_f1",
        "prove_precision",
        "prove_recall",
        "prove_accuracy",
        "prove_exact",
    ),
}
_CHOICES = {
    "target": ("sentences", "titles"),
    "decay": ("linear", "cosine", "none"),
    "precision": ("fp32", "bf16", "fp16"),
    "device": ("auto", "cpu"),
    "keep": ("best", "last"),
    "export": ("fp16", "fp32"),
}
_AT_LEAST = {
    "steps": 1,
    "minutes": 0,
    "batch_tokens": 1,
    "rerank_tokens": 1,
    "accumulation": 1,
    "max_source": 16,
    "max_target": 8,
    "encoder_rate": 0,
    "decoder_rate": 0,
    "weight_decay": 0,
    "warmup": 0,
    "clip": 0,
    "dropout": 0,
    "attention_dropout": 0,
    "label_smoothing": 0,
    "guide": 0,
    "seed": 0,
    "eval_every": 0,
    "eval_samples": 1,
    "eval_beams": 1,
    "proof_beams": 1,
    "save_every": 1,
    "log_every": 1,
}


@dataclass
class TrainConfig:
    """Settings of a training run.

    Attributes
    ----------
    start
        Checkpoint to start from: a directory, ``mini``, or a name on the Hugging Face hub.
    samples, dev
        Files of `training.build_data` to train on, and to evaluate on (none where empty).
    kb
        Knowledge base whose titles may be retrieved in evaluation.
    out
        Directory of the trained checkpoint; what resumes the run is kept beside it, in `out`.run.
    hops
        Retrieval samples to use, by the number of documents they build on: ``all``, or numbers.
    target
        What stands before the title in the retriever's output: the identifiers of ``sentences``, or
        the ``titles`` of their documents, which the variant ``joint-docs`` decodes.
    markers
        Give the tokenizer tokens for tasks and sentence identifiers where it lacks them.
    steps, minutes
        Optimizer steps; minutes after which the run stops, to be resumed (0: no limit).
    batch_tokens, rerank_tokens, accumulation
        Cost of a batch (`training.data.batches`), and batches of each process in a step.
    max_source, max_target
        Longest input and output in tokens; samples that do not fit are left out.
    encoder_rate, decoder_rate, weight_decay, warmup, decay, clip
        Peak learning rates, AdamW's decay of weights, steps of warm-up, what follows it, and the
        norm to which gradients are clipped (0: not at all).
    dropout, attention_dropout, label_smoothing, guide
        Regularisation, and the weight of the loss on cross-attention
        (`training.loop.guided_attention`).
    precision, device, seed
        Arithmetic, ``cpu`` to leave a GPU alone, and the seed of everything random.
    eval_every, eval_samples, eval_beams, proof_beams
        Steps between evaluations (0: at the end only), samples of each task, and beams.
    metric, keep
        Which metric decides what is ``best``, and whether that or the ``last`` state is kept.
    save_every, log_every, tracker
        Steps between saved states and between reports; a tracker of accelerate, ``auto`` or
        ``none``.
    export, push_to_hub
        Type of the saved weights, and a repository on the hub to upload them to (none where empty).
    """

    start: str = "runs/warm"
    samples: str = "runs/samples.jsonl"
    dev: str = ""
    kb: str = "demo"
    out: str = "runs/mini"
    hops: str = "all"
    target: str = "sentences"
    markers: bool = True
    steps: int = 2000
    minutes: float = 0.0
    batch_tokens: int = 4096
    rerank_tokens: int = 4096
    accumulation: int = 1
    max_source: int = 192
    max_target: int = 160
    encoder_rate: float = 1e-4
    decoder_rate: float = 5e-4
    weight_decay: float = 0.01
    warmup: int = 100
    decay: str = "linear"
    clip: float = 1.0
    dropout: float = 0.0
    attention_dropout: float = 0.0
    label_smoothing: float = 0.0
    guide: float = 0.5
    precision: str = "bf16"
    device: str = "auto"
    seed: int = 0
    eval_every: int = 200
    eval_samples: int = 100
    eval_beams: int = 10
    proof_beams: int = 2
    metric: str = "score"
    keep: str = "last"
    save_every: int = 200
    log_every: int = 20
    tracker: str = "auto"
    export: str = "fp16"
    push_to_hub: str = ""

    @property
    def hop_numbers(self) -> frozenset[int] | None:
        """The hops that `hops` lists; None for all."""
        return None if self.hops == "all" else frozenset(map(int, self.hops.split(",")))


def load_config(path: Path, overrides: tuple[str, ...], tasks: tuple[str, ...]) -> TrainConfig:
    """Return the settings of a run that trains `tasks`, checked (see `read_settings`)."""
    return read_settings(TrainConfig, partial(problems, tasks=tasks), path, overrides)


def problems(config: TrainConfig, tasks: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong and what would be right) for each bad value."""
    for key in ("start", "samples", "out", "kb", "tracker"):
        if not getattr(config, key):
            yield key, "is empty"
    for key, least in _AT_LEAST.items():
        value = getattr(config, key)
        if not (least <= value and math.isfinite(value)):
            yield key, f"{value} is no number from {least} on"
    for key in ("dropout", "attention_dropout", "label_smoothing"):
        if getattr(config, key) >= 1:
            yield key, f"{getattr(config, key)} is not below 1"
    for key, choices in _CHOICES.items():
        if getattr(config, key) not in choices:
            yield key, f"{getattr(config, key)!r} is not one of {', '.join(choices)}"
    if Path(config.out).name in ("", ".."):
        yield "out", f"{config.out!r} has no name of its own; give a directory that may be replaced"
    if config.seed >= 2**32:
        yield "seed", f"{config.seed} is not below 2**32"
    if not re.fullmatch(r"all|\d(,\d)*", config.hops):
        yield "hops", f"{config.hops!r} is neither 'all' nor a list such as 0 or 1,2"
    known = ["score", "loss", *(name for task in tasks for name in METRICS[task])]
    if config.metric not in known:
        yield "metric", f"{config.metric!r} is not one of {', '.join(known)}"
    if config.keep == "best" and not config.dev:
        yield "keep", "is 'best', but there is no dev file to tell by; name one, or keep the last"
