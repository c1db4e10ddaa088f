"""Settings of the training of the verifier, each declared once.

The table of settings in ``docs/verifier.md`` is generated from the declarations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.storage.declared_settings import documented, read_settings, setting
from proofs.verifier.classifier_verifier import MAX_LENGTH
from training.loop import COUNT, PROBABILITY, RATE, loop_problems, loop_setting


@documented
@dataclass
class VerifierConfig:
    """Settings of a training run of the verifier."""

    start: str = setting(
        "runs/bge-small",
        "Directory of the encoder or verifier to start from.",
        section="Files",
        pattern=".+",
        format="a directory",
    )
    examples: str = setting(
        "runs/examples.jsonl",
        "Files of training examples, separated by commas.",
        pattern=".+",
        format="files",
    )
    weights: str = setting(
        "",
        "Factors of the weights of sources, or of labels of sources, separated by commas, such as "
        "`twins=0.7,fever/neutral=0.5`. 0 leaves them out.",
    )
    dev: str = setting("", "Files of development examples; empty: no evaluation.")
    out: str = loop_setting(
        "out",
        default="runs/verifier",
        help="Directory of the trained verifier. The state that resumes the run is in `out`.run.",
    )

    max_length: int = setting(
        MAX_LENGTH,
        "Maximum number of tokens of an example. Longer ones are left out.",
        section="Examples",
        bounds=(16, 512),
    )
    steps: int = loop_setting("steps", default=6000)
    minutes: float = loop_setting("minutes")
    batch_tokens: int = setting(4096, "Maximum number of padded tokens in a batch.", bounds=COUNT)
    gradient_accumulation_steps: int = loop_setting("gradient_accumulation_steps")

    lr: float = setting(
        2e-4, "Peak learning rate of the encoder.", section="Optimisation", bounds=RATE
    )
    head_lr: float = setting(1e-3, "Peak learning rate of the heads.", bounds=RATE)
    weight_decay: float = loop_setting("weight_decay")
    warmup_steps: int = loop_setting("warmup_steps", default=300)
    lr_schedule: str = loop_setting("lr_schedule")
    max_grad_norm: float = loop_setting("max_grad_norm")
    dropout: float = setting(0.1, "Dropout of hidden states.", bounds=PROBABILITY)

    precision: str = loop_setting("precision")
    device: str = loop_setting("device")
    seed: int = loop_setting("seed")

    eval_every: int = loop_setting("eval_every", default=500)
    eval_examples: int = setting(200, "Development examples of each source.", bounds=COUNT)
    best_metric: str = setting(
        "score",
        "Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`.",
        pattern=r"score|loss|[^/]+/(accuracy|macro_f1|auc|pairs)",
        format="score, loss, or one such as fever/auc",
    )

    keep: str = loop_setting("keep", help="State that becomes the verifier.")
    save_every: int = loop_setting("save_every", default=250)
    log_every: int = loop_setting("log_every")
    tracker: str = loop_setting("tracker")
    export: str = loop_setting("export")


def load_verifier_config(path: Path, overrides: tuple[str, ...] = ()) -> VerifierConfig:
    """Return the validated settings of a run (see `read_settings`)."""
    return read_settings(VerifierConfig, loop_problems, path, overrides)


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
