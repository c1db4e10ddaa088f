"""The settings that all training loops share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from admiral.settings import Name, Settings

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
CountOrNone = Annotated[int, Field(ge=0, le=1_000_000_000)]
Amount = Annotated[float, Field(ge=0, le=1_000_000_000)]
Rate = Annotated[float, Field(ge=0, le=100)]
Dropout = Annotated[float, Field(ge=0, le=0.99)]
MaxLength = Annotated[int, Field(ge=16, le=512)]


class LoopSettings(Settings):
    """The settings that every training loop reads; a program declares its own defaults of some."""

    headings: ClassVar[dict[str, str]] = {
        "out": "Files",
        "steps": "Steps and batches",
        "weight_decay": "Optimisation",
        "precision": "Devices",
        "eval_every": "Evaluation",
        "keep": "Output",
    }
    out: Name = "runs/model"
    """Directory of the trained model. The state that resumes the run is in `out`.run."""
    dev: str = ""
    """File of development examples; empty: no evaluation."""

    steps: Count = 2000
    """Optimiser steps of the whole run."""
    minutes: Amount = 0.0
    """Time limit in minutes, after which the run stops and can be resumed; 0: none."""
    gradient_accumulation_steps: Count = 1
    """Batches of each process in an optimiser step."""

    weight_decay: Rate = 0.01
    """Weight decay of AdamW."""
    warmup_steps: CountOrNone = 100
    """Steps of linear warm-up."""
    lr_schedule: Literal["linear", "cosine", "constant"] = "linear"
    """Learning-rate schedule after the warm-up.

    - `linear`: linear decay to zero at the last step
    - `cosine`: cosine decay to zero at the last step
    - `constant`: no decay
    """
    max_grad_norm: Amount = 1.0
    """Norm to which gradients are clipped; 0: no clipping."""

    precision: Literal["fp32", "bf16"] = "bf16"
    """Number format of matrix products.

    - `fp32`: 32 bits
    - `bf16`: bfloat16
    """
    device: Literal["auto", "cpu"] = "auto"
    """Device of the run.

    - `auto`: a GPU if torch finds one
    - `cpu`: the processor
    """
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    """Seed of all randomness."""

    eval_every: CountOrNone = 500
    """Steps between evaluations; 0: only at the end."""
    best_metric: str = "score"
    """Metric that decides which state is the best (see Evaluation)."""

    keep: Literal["best", "last"] = "last"
    """State that becomes the model.

    - `best`: the one with the best `best_metric`
    - `last`: the last one
    """
    save_every: Count = 250
    """Steps between saved states."""
    log_every: Count = 20
    """Steps between log lines."""
    tracker: Name = "auto"
    """Trackers of accelerate, such as `tensorboard`, separated by commas. `auto` uses tensorboard
    where it is installed, `none` uses none."""
    push_to_hub: str = ""
    """Repository on the Hugging Face hub to upload the model to; empty: none."""
    export: Literal["fp16", "fp32"] = "fp16"
    """Number format of the exported weights.

    - `fp16`: half precision
    - `fp32`: 32 bits
    """

    @field_validator("out")
    @classmethod
    def _check_out(cls, value: str) -> str:
        if Path(value).name in ("", ".."):
            raise ValueError(
                f"{value!r} has no name of its own; give a directory that may be replaced"
            )
        return value

    @field_validator("keep")
    @classmethod
    def _check_keep(cls, value: str, others: ValidationInfo) -> str:
        if value == "best" and not others.data.get("dev"):
            raise ValueError(
                "is 'best', but there is no dev file; give one, or keep the last state"
            )
        return value
