"""Settings of the training of the verifier, each declared once.

The table of settings in ``docs/verifier.md`` is generated from the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admiral.storage.declared_settings import documented, setting, value_problems
from admiral.storage.yaml_settings import read_settings

#: The name of MiniLM as a start.
MINILM = "minilm"
_COUNT = (1, 1_000_000_000)
_COUNT_OR_NONE = (0, 1_000_000_000)
_RATE = (0, 100)
_PROBABILITY = (0, 0.99)


@documented
@dataclass
class VerifierConfig:
    """Settings of a training run of the verifier."""

    start: str = setting(
        MINILM,
        "Encoder or pair classifier to start from: a directory, or `minilm`, all-MiniLM-L6-v2.",
        section="Files",
        pattern=".+",
        format="a directory or 'minilm'",
    )
    pairs: str = setting(
        "runs/pairs.jsonl",
        "Training pairs, written by `training.build_pairs`.",
        pattern=".+",
        format="a file",
    )
    dev: str = setting("", "Development pairs; empty: no evaluation.")
    out: str = setting(
        "runs/verifier",
        "Directory of the trained verifier. The state that resumes the run is in `out`.run.",
        pattern=".+",
        format="a directory",
    )

    max_length: int = setting(
        256,
        "Maximum number of tokens of a pair. Longer evidence is cut at its end.",
        section="Pairs",
        bounds=(16, 512),
    )
    steps: int = setting(
        6000, "Optimiser steps of the whole run.", section="Steps and batches", bounds=_COUNT
    )
    minutes: float = setting(
        0.0,
        "Time limit in minutes, after which the run stops and can be resumed; 0: none.",
        bounds=_COUNT_OR_NONE,
    )
    batch_tokens: int = setting(4096, "Maximum number of padded tokens in a batch.", bounds=_COUNT)
    gradient_accumulation_steps: int = setting(
        1, "Batches of each process in an optimiser step.", bounds=_COUNT
    )

    lr: float = setting(
        1e-4, "Peak learning rate of the encoder.", section="Optimisation", bounds=_RATE
    )
    head_lr: float = setting(1e-3, "Peak learning rate of the two heads.", bounds=_RATE)
    weight_decay: float = setting(0.01, "Weight decay of AdamW.", bounds=_RATE)
    warmup_steps: int = setting(300, "Steps of linear warm-up.", bounds=_COUNT_OR_NONE)
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
    dropout: float = setting(
        0.1, "Dropout of hidden states and attention weights.", bounds=_PROBABILITY
    )
    label_smoothing: float = setting(0.0, "Label smoothing.", bounds=_PROBABILITY)
    relevance_loss_weight: float = setting(
        0.2, "Weight of the loss of the relevance head.", bounds=_RATE
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
        500,
        "Steps between evaluations; 0: only at the end.",
        section="Evaluation",
        bounds=_COUNT_OR_NONE,
    )
    eval_pairs: int = setting(400, "Development pairs of each source.", bounds=_COUNT)
    best_metric: str = setting(
        "score",
        "Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`.",
        pattern=r"score|loss|[^/]+/(accuracy|macro_f1|auc)",
        format="score, loss, or one such as fever/auc",
    )

    keep: str = setting(
        "last",
        "State that becomes the verifier.",
        section="Output",
        choices={"best": "the one with the best `best_metric`", "last": "the last one"},
    )
    save_every: int = setting(250, "Steps between saved states.", bounds=_COUNT)
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


def load_verifier_config(path: Path, overrides: tuple[str, ...] = ()) -> VerifierConfig:
    """Return the validated settings of a run (see `read_settings`)."""
    return read_settings(VerifierConfig, problems, path, overrides)


def problems(config: VerifierConfig) -> Iterator[tuple[str, str]]:
    """Yield (key, problem and remedy) for each invalid value."""
    yield from value_problems(config)
    if Path(config.out).name in ("", ".."):
        yield "out", f"{config.out!r} has no name of its own; give a directory that may be replaced"
    if config.keep == "best" and not config.dev:
        yield "keep", "is 'best', but there is no dev file; give one, or keep the last state"
