"""Settings of the training of the natural-logic reader, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admiral.storage.declared_settings import documented, read_settings, setting
from proofs.verifier.natural_logic_reader import MAX_LENGTH
from training.loop import COUNT, COUNT_OR_NONE, RATE, loop_problems, loop_setting


@documented
@dataclass
class ReaderConfig:
    """Settings of a training run of the natural-logic reader."""

    base: str = setting(
        "runs/base",
        "Directory of the pretrained encoder.",
        section="Files",
        pattern=".+",
        format="a directory",
    )
    start: str = setting("", "Directory of the trained reader to start from; empty: none.")
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
        default="runs/reader",
        help="Directory of the trained adapters. The state that resumes the run is in `out`.run.",
    )

    heads: str = setting(
        "both",
        "Heads that are trained.",
        section="Model",
        choices={
            "both": "the automaton, and the whole head that it is drawn towards",
            "automaton": "the automaton alone",
            "whole": "the whole head; the automaton follows it, without any say in the encoder",
        },
    )
    rank: int = setting(
        16,
        "Rank of the adapters of all linear layers of the encoder; 0: its weights are trained.",
        bounds=(0, 1024),
    )
    frozen_layers: int = setting(
        0, "First layers of the encoder that stay as they are.", bounds=COUNT_OR_NONE
    )

    max_length: int = setting(
        MAX_LENGTH,
        "Maximum number of tokens of an example. Longer ones are left out.",
        section="Examples",
        bounds=(16, 512),
    )
    canonical_values: bool = setting(
        True, "Whether numbers, dates, amounts and units are read in one canonical form."
    )
    steps: int = loop_setting("steps", default=20000)
    minutes: float = loop_setting("minutes")
    batch_tokens: int = setting(1536, "Maximum number of padded tokens in a batch.", bounds=COUNT)
    gradient_accumulation_steps: int = loop_setting("gradient_accumulation_steps")

    lr: float = setting(
        3e-4, "Peak learning rate of the encoder.", section="Optimisation", bounds=RATE
    )
    head_lr: float = setting(1e-3, "Peak learning rate of the heads.", bounds=RATE)
    weight_decay: float = loop_setting("weight_decay")
    warmup_steps: int = loop_setting("warmup_steps", default=100)
    lr_schedule: str = loop_setting("lr_schedule", default="constant")
    max_grad_norm: float = loop_setting("max_grad_norm")

    precision: str = loop_setting("precision")
    device: str = loop_setting("device")
    seed: int = loop_setting("seed")

    eval_every: int = loop_setting("eval_every", default=500)
    eval_examples: int = setting(200, "Development examples of each source.", bounds=COUNT)
    best_metric: str = setting(
        "score",
        "Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`.",
        pattern=r"score|loss|[^/]+/(accuracy|pairs)",
        format="score, loss, or one such as fever/accuracy",
    )

    keep: str = loop_setting("keep", help="State that becomes the reader.")
    save_every: int = loop_setting("save_every", default=150)
    log_every: int = loop_setting("log_every")
    tracker: str = loop_setting("tracker", default="none")
    export: str = loop_setting("export")


def load_reader_config(path: Path, overrides: tuple[str, ...] = ()) -> ReaderConfig:
    """Return the validated settings of a run (see `read_settings`)."""
    return read_settings(ReaderConfig, loop_problems, path, overrides)
