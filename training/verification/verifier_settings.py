"""Settings of the training of the verifier, each declared once.

The table of settings in ``docs/verifier.md`` is generated from the declarations.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from admiral.errors import AdmiralError
from admiral.settings import Name
from proofs.verifier.classifier_verifier import MAX_LENGTH
from training.loop import Count, CountOrNone, Dropout, LoopSettings, MaxLength, Rate


class ExampleSettings(LoopSettings):
    """The settings of a program that trains on files of examples."""

    headings: ClassVar[dict[str, str]] = {
        "examples": "Files",
        "max_length": "Examples",
        "batch_tokens": "Steps and batches",
        "lr": "Optimisation",
        "eval_examples": "Evaluation",
    }
    examples: Name = "runs/examples.jsonl"
    """Files of training examples, separated by commas."""
    weights: str = ""
    """Factors of the weights of sources, or of labels of sources, separated by commas, such as
    `twins=0.7,fever/neutral=0.5`. 0 leaves them out."""
    dev: str = ""
    """Files of development examples; empty: no evaluation."""
    max_length: MaxLength = MAX_LENGTH
    """Maximum number of tokens of an example. Longer ones are left out."""
    batch_tokens: Count = 4096
    """Maximum number of padded tokens in a batch."""
    lr: Rate = 2e-4
    """Peak learning rate of the encoder."""
    head_lr: Rate = 1e-3
    """Peak learning rate of the heads."""
    eval_examples: Count = 200
    """Development examples of each source."""


class VerifierConfig(ExampleSettings):
    """Settings of a training run of the verifier."""

    headings: ClassVar[dict[str, str]] = {"start": "Files", "dropout": "Optimisation"}
    start: Name = "runs/bge-small"
    """Directory of the encoder or verifier to start from."""
    out: Name = "runs/verifier"
    steps: Count = 6000
    warmup_steps: CountOrNone = 300
    dropout: Dropout = 0.1
    """Dropout of hidden states."""
    best_metric: Annotated[
        str, Field(pattern=r"^(score|loss|[^/]+/(accuracy|macro_f1|auc|pairs))$")
    ] = "score"
    """Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`."""


def weights_of(text: str) -> dict[str, float]:
    """Return the factors that the setting `weights` lists.

    Raises AdmiralError if one is no number from 0.
    """
    weights = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, number = named_number(part)
        if not name or not (math.isfinite(number) and number >= 0):
            raise AdmiralError(f"weights: {part!r} is not SOURCE=NUMBER, such as fever=2")
        weights[name] = number
    return weights


def named_number(text: str) -> tuple[str, float]:
    """Return the name, which may be empty, and the number of ``NAME=NUMBER``; NaN if it is none."""
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        return name, math.nan


def paths_of(text: str) -> list[Path]:
    """Return the files that a setting lists."""
    return [Path(part.strip()) for part in text.split(",") if part.strip()]
