"""Settings of training on cited pages, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admiral.storage.declared_settings import documented, read_settings, setting
from training.loop.loop_settings import COUNT, PROBABILITY, RATE, loop_problems, loop_setting


@documented
@dataclass
class EmConfig:
    """Settings of a run that trains a verifier or an encoder on cited pages."""

    start: str = setting(
        "runs/bge-small",
        "Directory of the encoder or verifier to start from.",
        section="Files",
        pattern=".+",
        format="a directory",
    )
    pairs: str = setting(
        "runs/citation-pairs.jsonl",
        "File of claims with passages, written by `training.citation_pairs`.",
        pattern=".+",
        format="a file",
    )
    dev: str = setting("", "File of development claims; empty: no evaluation.")
    out: str = loop_setting(
        "out",
        default="runs/citation-model",
        help="Directory of the trained model. The state that resumes the run is in `out`.run.",
    )

    strategy: str = setting(
        "hard",
        "Passage of the cited page that is taken as right.",
        section="Loss",
        choices={
            "hard": "the one with the highest score, as in the paper",
            "soft": "all, by the softmax of their scores",
            "first": "the first",
            "random": "a random one",
            "uniform": "all, equally",
        },
    )
    sharpness: float = setting(
        1.0, "Factor of the scores in the weights of `soft`; large ones are `hard`.", bounds=RATE
    )
    scale: float = setting(
        20.0, "Factor of the cosines that are the scores of an encoder.", bounds=RATE
    )
    shared_negatives: bool = setting(
        True, "Whether the passages of the other claims of a batch are negatives of an encoder."
    )

    max_length: int = setting(
        384, "Maximum number of tokens of an input.", section="Examples", bounds=(16, 512)
    )
    steps: int = loop_setting("steps", default=2000)
    minutes: float = loop_setting("minutes")
    batch_claims: int = setting(4, "Claims of a batch, each with all its passages.", bounds=COUNT)
    gradient_accumulation_steps: int = loop_setting("gradient_accumulation_steps")

    lr: float = setting(
        2e-5, "Peak learning rate of the encoder.", section="Optimisation", bounds=RATE
    )
    head_lr: float = setting(1e-4, "Peak learning rate of the heads of a verifier.", bounds=RATE)
    weight_decay: float = loop_setting("weight_decay")
    warmup_steps: int = loop_setting("warmup_steps", default=100)
    lr_schedule: str = loop_setting("lr_schedule")
    max_grad_norm: float = loop_setting("max_grad_norm")
    dropout: float = setting(0.1, "Dropout of hidden states of a verifier.", bounds=PROBABILITY)

    precision: str = loop_setting("precision")
    device: str = loop_setting("device")
    seed: int = loop_setting("seed")

    eval_every: int = loop_setting("eval_every", default=500)
    best_metric: str = setting(
        "accuracy",
        "Metric that decides which state is the best.",
        choices={
            "accuracy": "share of claims whose best passage is of the cited page",
            "loss": "the loss",
        },
    )

    keep: str = loop_setting("keep", help="State that becomes the model.")
    save_every: int = loop_setting("save_every", default=250)
    log_every: int = loop_setting("log_every")
    tracker: str = loop_setting("tracker")
    export: str = loop_setting("export")


def load_em_config(path: Path, overrides: tuple[str, ...] = ()) -> EmConfig:
    """Return the validated settings of a run (see `read_settings`)."""
    return read_settings(EmConfig, loop_problems, path, overrides)
