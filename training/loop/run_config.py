"""Settings of a training run: defaults, then a YAML file, then ``key=value`` overrides.

Each setting is declared once, in `TrainConfig`. The table of settings in ``docs/training.md`` is
generated from the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from admiral.storage.declared_settings import documented, setting, value_problems
from admiral.storage.yaml_settings import read_settings

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
_COUNT = (1, 1_000_000_000)
_COUNT_OR_NONE = (0, 1_000_000_000)
_RATE = (0, 100)
_PROBABILITY = (0, 0.99)


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
    out: str = setting(
        "runs/mini",
        "Directory of the trained checkpoint. The state that resumes the run is in `out`.run.",
        pattern=".+",
        format="a directory",
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

    steps: int = setting(
        2000, "Optimiser steps of the whole run.", section="Steps and batches", bounds=_COUNT
    )
    minutes: float = setting(
        0.0,
        "Time limit in minutes, after which the run stops and can be resumed; 0: none.",
        bounds=_COUNT_OR_NONE,
    )
    batch_tokens: int = setting(
        4096, "Maximum cost of a batch of generation samples (see Batches).", bounds=_COUNT
    )
    rerank_tokens: int = setting(
        4096, "Maximum cost of a batch of reranking samples (see Batches).", bounds=_COUNT
    )
    gradient_accumulation_steps: int = setting(
        1, "Batches of each process in an optimiser step.", bounds=_COUNT
    )

    encoder_lr: float = setting(
        1e-4,
        "Peak learning rate of the encoder and the reranking head.",
        section="Optimisation",
        bounds=_RATE,
    )
    decoder_lr: float = setting(5e-4, "Peak learning rate of the decoder.", bounds=_RATE)
    weight_decay: float = setting(0.01, "Weight decay of AdamW.", bounds=_RATE)
    warmup_steps: int = setting(100, "Steps of linear warm-up.", bounds=_COUNT_OR_NONE)
    lr_schedule: str = setting(
        "linear",
        "Learning-rate schedule after the warm-up.",
        choices={
            "linear": "linear decay to zero at the last step",
            "cosine": "cosine decay to zero at the last step",
            "constant": "no decay",
        },
    )
    max_grad_norm: float = setting(
        1.0, "Norm to which gradients are clipped; 0: no clipping.", bounds=_COUNT_OR_NONE
    )
    dropout: float = setting(0.0, "Dropout of hidden states.", bounds=_PROBABILITY)
    attention_dropout: float = setting(0.0, "Dropout of attention weights.", bounds=_PROBABILITY)
    label_smoothing: float = setting(0.0, "Label smoothing of target tokens.", bounds=_PROBABILITY)
    attention_loss_weight: float = setting(
        0.5,
        "Weight of the loss on the cross-attention (see Guided attention); 0: none.",
        bounds=_RATE,
    )

    precision: str = setting(
        "bf16",
        "Number format of matrix products.",
        section="Devices",
        choices={
            "fp32": "32 bits",
            "bf16": "bfloat16",
            "fp16": "half precision, on GPUs only",
        },
    )
    device: str = setting(
        "auto",
        "Device of the run.",
        choices={"auto": "a GPU if torch finds one", "cpu": "the processor"},
    )
    seed: int = setting(0, "Seed of all randomness.", bounds=(0, 2**32 - 1))

    eval_every: int = setting(
        200,
        "Steps between evaluations; 0: only at the end.",
        section="Evaluation",
        bounds=_COUNT_OR_NONE,
    )
    eval_samples: int = setting(100, "Development samples of each task.", bounds=_COUNT)
    eval_beams: int = setting(10, "Beam size of retrieval in evaluation.", bounds=_COUNT)
    proof_beams: int = setting(2, "Beam size of proof generation in evaluation.", bounds=_COUNT)
    best_metric: str = setting(
        "score", "Metric that decides which state is the best (see Evaluation)."
    )

    keep: str = setting(
        "last",
        "State that becomes the checkpoint.",
        section="Output",
        choices={"best": "the one with the best `best_metric`", "last": "the last one"},
    )
    save_every: int = setting(200, "Steps between saved states.", bounds=_COUNT)
    log_every: int = setting(20, "Steps between log lines.", bounds=_COUNT)
    tracker: str = setting(
        "auto",
        "Trackers of accelerate, such as `tensorboard`, separated by commas. `auto` uses "
        "tensorboard where it is installed, `none` uses none.",
        pattern=".+",
        format="a tracker, 'auto' or 'none'",
    )
    export: str = setting(
        "fp16",
        "Number format of the exported weights.",
        choices={"fp16": "half precision", "fp32": "32 bits"},
    )
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
    yield from value_problems(config)
    if Path(config.out).name in ("", ".."):
        yield "out", f"{config.out!r} has no name of its own; give a directory that may be replaced"
    metrics = ["score", "loss", *(name for task in tasks for name in METRICS[task])]
    if config.best_metric not in metrics:
        yield "best_metric", f"{config.best_metric!r} is not one of {', '.join(metrics)}"
    if config.keep == "best" and not config.dev:
        yield "keep", "is 'best', but there is no dev file; give one, or keep the last state"
