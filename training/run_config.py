"""Settings of a training run; docs/training.md explains each of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from admiral.storage.yaml_settings import read_settings

TASKS = ("retrieve", "rerank", "prove")
#: Metrics of each task on development samples. The first of each enters `score`.
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
    "lr_schedule": ("linear", "cosine", "constant"),
    "precision": ("fp32", "bf16", "fp16"),
    "device": ("auto", "cpu"),
    "keep": ("best", "last"),
    "export": ("fp16", "fp32"),
}
_MINIMUM = {
    "steps": 1,
    "minutes": 0,
    "batch_tokens": 1,
    "rerank_tokens": 1,
    "gradient_accumulation_steps": 1,
    "max_source": 16,
    "max_target": 8,
    "encoder_lr": 0,
    "decoder_lr": 0,
    "weight_decay": 0,
    "warmup_steps": 0,
    "max_grad_norm": 0,
    "dropout": 0,
    "attention_dropout": 0,
    "label_smoothing": 0,
    "attention_loss_weight": 0,
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
        Files written by `training.build_data`: the training samples, and the development samples
        (empty: no evaluation).
    kb
        Knowledge base whose titles the retriever may generate during evaluation.
    out
        Directory of the trained checkpoint. The state that resumes the run is kept in ``out.run``.
    hops
        Hop numbers of the retrieval samples to use: ``all``, or a list such as ``0,1``.
    target
        What precedes the title in the retriever's output: identifiers of ``sentences``, or the
        ``titles`` of their documents, which the variant ``joint-docs`` decodes.
    markers
        Add tokens for tasks, hops and sentence identifiers to the vocabulary where it lacks them.
    steps, minutes
        Number of optimizer steps, and a time limit in minutes after which the run stops and can be
        resumed (0: no limit).
    batch_tokens, rerank_tokens, gradient_accumulation_steps
        Cost of a batch (see `training.data.batches`), and batches per process and step.
    max_source, max_target
        Maximum input and output length in tokens. Longer samples are left out.
    encoder_lr, decoder_lr, weight_decay
        Peak learning rates of the encoder and the decoder, and AdamW's weight decay.
    warmup_steps, lr_schedule, max_grad_norm
        Linear warm-up, the schedule after it, and the norm to which gradients are clipped (0: no
        clipping).
    dropout, attention_dropout, label_smoothing
        Regularisation.
    attention_loss_weight
        Weight of the loss on the cross-attention (see `training.loop.guided_attention`).
    precision, device, seed
        Number format of matrix products, ``cpu`` to ignore a GPU, and the random seed.
    eval_every, eval_samples, eval_beams, proof_beams
        Steps between evaluations (0: only at the end), samples per task, and beam sizes.
    best_metric, keep
        Metric that selects the ``best`` checkpoint, and whether that or the ``last`` one is kept.
    save_every, log_every, tracker
        Steps between saved states and between log lines; trackers of accelerate, ``auto`` or
        ``none``.
    export, push_to_hub
        Number format of the exported weights, and a repository on the hub to upload them to
        (empty: none).
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
    gradient_accumulation_steps: int = 1
    max_source: int = 192
    max_target: int = 160
    encoder_lr: float = 1e-4
    decoder_lr: float = 5e-4
    weight_decay: float = 0.01
    warmup_steps: int = 100
    lr_schedule: str = "linear"
    max_grad_norm: float = 1.0
    dropout: float = 0.0
    attention_dropout: float = 0.0
    label_smoothing: float = 0.0
    attention_loss_weight: float = 0.5
    precision: str = "bf16"
    device: str = "auto"
    seed: int = 0
    eval_every: int = 200
    eval_samples: int = 100
    eval_beams: int = 10
    proof_beams: int = 2
    best_metric: str = "score"
    keep: str = "last"
    save_every: int = 200
    log_every: int = 20
    tracker: str = "auto"
    export: str = "fp16"
    push_to_hub: str = ""

    @property
    def hop_numbers(self) -> frozenset[int] | None:
        """The hop numbers that `hops` lists; None for all."""
        return None if self.hops == "all" else frozenset(map(int, self.hops.split(",")))


def load_config(path: Path, overrides: tuple[str, ...], tasks: tuple[str, ...]) -> TrainConfig:
    """Return the validated settings of a run that trains `tasks` (see `read_settings`)."""
    return read_settings(TrainConfig, partial(problems, tasks=tasks), path, overrides)


def problems(config: TrainConfig, tasks: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (key, problem and remedy) for each invalid value."""
    for key in ("start", "samples", "out", "kb", "tracker"):
        if not getattr(config, key):
            yield key, "is empty"
    for key, minimum in _MINIMUM.items():
        value = getattr(config, key)
        if not (minimum <= value and math.isfinite(value)):
            yield key, f"{value} is not a finite number of at least {minimum}"
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
    metrics = ["score", "loss", *(name for task in tasks for name in METRICS[task])]
    if config.best_metric not in metrics:
        yield "best_metric", f"{config.best_metric!r} is not one of {', '.join(metrics)}"
    if config.keep == "best" and not config.dev:
        yield (
            "keep",
            "is 'best', but there is no dev file; name one, or keep the last state",
        )
