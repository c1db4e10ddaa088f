"""Settings of a training run: defaults, then a YAML file, then ``key=value`` overrides.

Each setting is declared once, in `TrainConfig`. The table of settings in ``docs/training.md`` is
generated from the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from admiral.storage.declared_settings import documented, read_settings, setting
from training.command_options import training_command
from training.loop import (
    COUNT,
    PROBABILITY,
    RATE,
    loop_problems,
    loop_setting,
)

#: Metrics of each task on development samples. The mean of each task's first one is `score`.
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


@documented
@dataclass
class TrainConfig:
    """Settings of a training run."""

    start: str = setting(
        "runs/warm",
        "Checkpoint to start from: a directory, `mini`, or a name on the Hugging Face hub.",
        section="Files",
        pattern=".+",
        format="a directory or a name",
    )
    samples: str = setting(
        "runs/samples.jsonl",
        "Training samples, written by `training.build_data`.",
        pattern=".+",
        format="a file",
    )
    dev: str = setting("", "Development samples; empty: no evaluation.")
    kb: str = setting(
        "demo",
        "Knowledge base whose titles the retriever may generate in evaluation.",
        pattern=".+",
        format="a name or a directory",
    )
    out: str = loop_setting(
        "out",
        default="runs/mini",
        help="Directory of the trained checkpoint. The state that resumes the run is in `out`.run.",
    )

    hops: str = setting(
        "all",
        "Hop numbers of the retrieval samples to use: `all`, or a list such as `0` or `1,2`.",
        section="Samples",
        pattern=r"all|\d(,\d)*",
        format="'all' or a list such as 0 or 1,2",
    )
    target: str = setting(
        "sentences",
        "What precedes the title in the retriever's output.",
        choices={
            "sentences": "identifiers of evidence sentences",
            "titles": "titles of their documents, which `variant=joint-docs` of `admiral retrieve` "
            "decodes",
        },
    )
    objective: str = setting(
        "marginal",
        "What the retriever maximises.",
        choices={
            "marginal": "the summed probability of all valid targets of a sample",
            "single": "the likelihood of each target, as a sample of its own, as in the paper",
        },
    )
    reranker: str = setting(
        "head",
        "What scores the sentences of a reranking sample.",
        choices={
            "head": "a head on the encoder, which reads a document at once",
            "pointwise": "the decoder, which answers true or false for each sentence, as monoT5 "
            "does, for `--reranker pointwise` of `admiral retrieve`; it learns from the gold "
            "sentences and as many others",
        },
    )
    markers: bool = setting(
        True,
        "Add tokens for tasks, hop numbers and sentence identifiers to a vocabulary without them.",
    )
    max_source: int = setting(
        192,
        "Maximum input length in tokens. Longer samples are left out, longer documents truncated.",
        bounds=(16, 1_000_000),
    )
    max_target: int = setting(
        160,
        "Maximum output length in tokens. Longer targets are left out.",
        bounds=(8, 1_000_000),
    )

    steps: int = loop_setting("steps", default=2000)
    minutes: float = loop_setting("minutes")
    batch_tokens: int = setting(
        4096, "Maximum cost of a batch of generation samples (see Batches).", bounds=COUNT
    )
    rerank_tokens: int = setting(
        4096, "Maximum cost of a batch of reranking samples (see Batches).", bounds=COUNT
    )
    gradient_accumulation_steps: int = loop_setting("gradient_accumulation_steps")

    encoder_lr: float = setting(
        1e-4,
        "Peak learning rate of the encoder, the embeddings and the reranking head.",
        section="Optimisation",
        bounds=RATE,
    )
    decoder_lr: float = setting(5e-4, "Peak learning rate of the decoder.", bounds=RATE)
    weight_decay: float = loop_setting("weight_decay")
    warmup_steps: int = loop_setting("warmup_steps", default=100)
    lr_schedule: str = loop_setting("lr_schedule")
    max_grad_norm: float = loop_setting("max_grad_norm")
    dropout: float = setting(0.0, "Dropout of hidden states.", bounds=PROBABILITY)
    attention_dropout: float = setting(0.0, "Dropout of attention weights.", bounds=PROBABILITY)
    label_smoothing: float = setting(0.0, "Label smoothing of target tokens.", bounds=PROBABILITY)
    attention_loss_weight: float = setting(
        0.5,
        "Weight of the loss on the cross-attention (see Guided attention); 0: none.",
        bounds=RATE,
    )

    precision: str = loop_setting("precision")
    device: str = loop_setting("device")
    seed: int = loop_setting("seed")

    eval_every: int = loop_setting("eval_every", default=200)
    eval_samples: int = setting(100, "Development samples of each task.", bounds=COUNT)
    eval_beams: int = setting(10, "Beam size of retrieval in evaluation.", bounds=COUNT)
    proof_beams: int = setting(2, "Beam size of proof generation in evaluation.", bounds=COUNT)
    best_metric: str = setting(
        "score", "Metric that decides which state is the best (see Evaluation)."
    )

    keep: str = loop_setting("keep", help="State that becomes the checkpoint.")
    save_every: int = loop_setting("save_every", default=200)
    log_every: int = loop_setting("log_every")
    tracker: str = loop_setting("tracker")
    export: str = loop_setting("export")
    push_to_hub: str = setting(
        "", "Repository on the Hugging Face hub to upload the checkpoint to; empty: none."
    )

    @property
    def hop_numbers(self) -> frozenset[int] | None:
        """The hop numbers that `hops` lists; None for all."""
        return None if self.hops == "all" else frozenset(map(int, self.hops.split(",")))


def load_config(path: Path, overrides: tuple[str, ...], tasks: tuple[str, ...]) -> TrainConfig:
    """Return the validated settings of a run that trains `tasks` (see `read_settings`)."""
    return read_settings(TrainConfig, partial(problems, tasks=tasks), path, overrides)


def problems(config: TrainConfig, tasks: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (key, problem and remedy) for each invalid value."""
    yield from loop_problems(config)
    metrics = ["score", "loss", *(name for task in tasks for name in METRICS[task])]
    if config.best_metric not in metrics:
        yield "best_metric", f"{config.best_metric!r} is not one of {', '.join(metrics)}"


def multitask_command(tasks: tuple[str, ...], purpose: str) -> click.Command:
    """Return the command that trains a checkpoint for some of the tasks of `METRICS`."""

    def start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
        from training.multitask.multitask_program import train

        train(load_config(path, overrides, tasks), tasks, overwrite=overwrite)

    return training_command(start, purpose, "docs/training.md")
