"""The settings that all training loops share, each declared once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from admiral.storage.declared_settings import setting, value_problems

COUNT = (1, 1_000_000_000)
COUNT_OR_NONE = (0, 1_000_000_000)
RATE = (0, 100)
PROBABILITY = (0, 0.99)

_DECLARATIONS: Mapping[str, Mapping[str, Any]] = {
    "out": {"pattern": ".+", "format": "a directory"},
    "steps": {
        "help": "Optimiser steps of the whole run.",
        "section": "Steps and batches",
        "bounds": COUNT,
    },
    "minutes": {
        "default": 0.0,
        "help": "Time limit in minutes, after which the run stops and can be resumed; 0: none.",
        "bounds": COUNT_OR_NONE,
    },
    "gradient_accumulation_steps": {
        "default": 1,
        "help": "Batches of each process in an optimiser step.",
        "bounds": COUNT,
    },
    "weight_decay": {"default": 0.01, "help": "Weight decay of AdamW.", "bounds": RATE},
    "warmup_steps": {"help": "Steps of linear warm-up.", "bounds": COUNT_OR_NONE},
    "lr_schedule": {
        "default": "linear",
        "help": "Learning-rate schedule after the warm-up.",
        "choices": {
            "linear": "linear decay to zero at the last step",
            "cosine": "cosine decay to zero at the last step",
            "constant": "no decay",
        },
    },
    "max_grad_norm": {
        "default": 1.0,
        "help": "Norm to which gradients are clipped; 0: no clipping.",
        "bounds": COUNT_OR_NONE,
    },
    "precision": {
        "default": "bf16",
        "help": "Number format of matrix products.",
        "section": "Devices",
        "choices": {
            "fp32": "32 bits",
            "bf16": "bfloat16",
            "fp16": "half precision, on GPUs only",
        },
    },
    "device": {
        "default": "auto",
        "help": "Device of the run.",
        "choices": {"auto": "a GPU if torch finds one", "cpu": "the processor"},
    },
    "seed": {"default": 0, "help": "Seed of all randomness.", "bounds": (0, 2**32 - 1)},
    "eval_every": {
        "help": "Steps between evaluations; 0: only at the end.",
        "section": "Evaluation",
        "bounds": COUNT_OR_NONE,
    },
    "keep": {
        "default": "last",
        "section": "Output",
        "choices": {"best": "the one with the best `best_metric`", "last": "the last one"},
    },
    "save_every": {"help": "Steps between saved states.", "bounds": COUNT},
    "log_every": {"default": 20, "help": "Steps between log lines.", "bounds": COUNT},
    "tracker": {
        "default": "auto",
        "help": "Trackers of accelerate, such as `tensorboard`, separated by commas. `auto` uses "
        "tensorboard where it is installed, `none` uses none.",
        "pattern": ".+",
        "format": "a tracker, 'auto' or 'none'",
    },
    "export": {
        "default": "fp16",
        "help": "Number format of the exported weights.",
        "choices": {"fp16": "half precision", "fp32": "32 bits"},
    },
}


class LoopSettings(Protocol):
    """The settings that every training loop reads; `loop_setting` declares most of them."""

    out: str
    dev: str
    steps: int
    minutes: float
    gradient_accumulation_steps: int
    weight_decay: float
    warmup_steps: int
    lr_schedule: str
    max_grad_norm: float
    precision: str
    device: str
    seed: int
    eval_every: int
    best_metric: str
    keep: str
    save_every: int
    log_every: int
    tracker: str
    export: str


def loop_setting(name: str, **rules: Any) -> Any:
    """Declare a field that all training loops have.

    `name`: name of the field, one of `LoopSettings`. `**rules`: what differs between the loops,
    such as ``default`` and ``help`` (see `setting`).
    """
    return setting(**{**_DECLARATIONS[name], **rules})


def loop_problems(config: LoopSettings) -> Iterator[tuple[str, str]]:
    """Yield (key, problem and remedy) for each invalid value that is invalid in all loops."""
    yield from value_problems(config)
    if Path(config.out).name in ("", ".."):
        yield "out", f"{config.out!r} has no name of its own; give a directory that may be replaced"
    if config.keep == "best" and not config.dev:
        yield "keep", "is 'best', but there is no dev file; give one, or keep the last state"


def values_of(config: LoopSettings, names: Iterable[str]) -> dict[str, Any]:
    """Return some of the settings by name."""
    return {name: getattr(config, name) for name in names}
