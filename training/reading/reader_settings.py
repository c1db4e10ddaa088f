"""Settings of the training of the natural-logic reader, each declared once."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from admiral.settings import Name
from proofs.reader.inputs import MAX_LENGTH
from training.loop import Count, MaxLength, Rate
from training.verification.verifier_settings import ExampleSettings


class ReaderConfig(ExampleSettings):
    """Settings of a training run of the natural-logic reader."""

    headings: ClassVar[dict[str, str]] = {
        "base": "Files",
        "heads": "Model",
        "canonical_values": "Examples",
    }
    base: Name = "runs/base"
    """Directory of the pretrained encoder."""
    start: str = ""
    """Directory of the trained reader to start from; empty: none."""
    out: Name = "runs/reader"

    heads: Literal["both", "automaton", "whole"] = "both"
    """Heads that are trained.

    - `both`: the automaton, and the whole head that it is drawn towards
    - `automaton`: the automaton alone
    - `whole`: the whole head; the automaton follows it, without any say in the encoder
    """
    rank: Annotated[int, Field(ge=0, le=1024)] = 16
    """Rank of the adapters of all linear layers of the encoder; 0: its weights are trained."""

    max_length: MaxLength = MAX_LENGTH
    canonical_values: bool = True
    """Whether numbers, dates, amounts and units are read in one canonical form."""

    steps: Count = 20_000
    batch_tokens: Count = 1536
    lr: Rate = 3e-4
    lr_schedule: Literal["linear", "cosine", "constant"] = "constant"
    best_metric: Annotated[str, Field(pattern=r"^(score|loss|[^/]+/(accuracy|pairs))$")] = "score"
    """Metric that decides which state is the best: `score`, `loss`, or `SOURCE/METRIC`."""
    save_every: Count = 150
    tracker: Name = "none"
