"""Fit the head of the judge `classifier` on the states of a trained model.

Run as ``python -m training sufficiency --claims TRAIN --dev DEV --kb KB --model DIR``, then use
``--model DIR --judge classifier``. It takes some minutes on one core. The training claims fit the
weights; the development claims choose the threshold and nothing else. The threshold keeps a high
recall of insufficient evidence, because an unnecessary hop costs time, but stopping too early costs
the answer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click
import torch
from pydantic import Field
from safetensors.torch import save

from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import SUFFICIENCY_HEAD, SUMS, load_checkpoint, write_sums
from admiral.requirements import is_bundled
from admiral.storage.atomic_files import write_atomically
from proofs.judges.generated import pooled_states
from training.data.evidence_corpora import judged_evidence
from training.data_options import KbOptions, Positive, SeedOptions, program
from training.feature_fits import fit_logistic

_RIDGE = 3e-2


def threshold_at_recall(scores: Sequence[float], positive: Sequence[bool], recall: float) -> float:
    """Return the highest threshold at which recall is at least `recall`.

    The threshold lies halfway between two scores, or below all of them.

    `scores`, `positive`: score and label of each example; at least one is positive. `recall`: share
    of the positive examples that must score above the threshold.
    """
    count = max(math.ceil(recall * sum(positive) - 1e-9), 1)
    positive_scores = (s for s, is_positive in zip(scores, positive, strict=True) if is_positive)
    lowest = sorted(positive_scores, reverse=True)[count - 1]
    next_lower = max((s for s in scores if s < lowest), default=lowest - 1.0)
    return (lowest + next_lower) / 2


class FitOptions(SeedOptions, KbOptions):
    """Options of this program."""

    claims: Path
    """Training claims with gold sentences."""
    dev: Path
    """Development claims with gold sentences."""
    model: Annotated[str, "DIR"]
    """Checkpoint directory, to which the fit is added."""
    recall: Annotated[float, Field(gt=0, le=1)] = 0.92
    """Share of insufficient evidence that the judge must detect on the dev claims."""
    limit: Positive = 2000
    """Maximum number of training claims."""


@program(FitOptions)
def main(options: FitOptions) -> None:
    """Fit the judge `classifier` on claims with gold sentences."""
    if is_bundled(options.model):
        remedy = "Train one, or name the directory of a copy"
        raise AdmiralError(
            f"--model {options.model}: the bundled model cannot be changed. {remedy}"
        )
    train = list(read_gold(options.claims))
    random.Random(options.seed).shuffle(train)
    dev = list(read_gold(options.dev))
    with KnowledgeBase.open(locate(options.kb)) as kb:
        fitted, chosen = (
            list(judged_evidence(kb, claims, seed=options.seed))
            for claims in (train[: options.limit], dev)
        )
    for path, examples in ((options.dev, chosen), (options.claims, fitted)):
        if not examples:
            raise AdmiralError(
                f"{path}: {options.kb} holds all gold sentences of no claim. Give the knowledge "
                "base that the claims were annotated on"
            )
    checkpoint = load_checkpoint(options.model)
    states, dev_states = (
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [example.claim for example in examples],
            [example.evidence for example in examples],
        ).double()
        for examples in (fitted, chosen)
    )
    sufficient = [int(example.sufficient) for example in fitted]
    _, deviation, weights = fit_logistic(states.numpy(), sufficient, _RIDGE)
    weight = torch.from_numpy(weights / deviation)
    lacking = [not example.sufficient for example in chosen]
    threshold = threshold_at_recall((-(dev_states @ weight)).tolist(), lacking, options.recall)
    bias = torch.tensor(threshold, dtype=torch.float32)
    out = checkpoint.path / SUFFICIENCY_HEAD
    write_atomically(out, [save({"weight": weight.float(), "bias": bias})])
    if (checkpoint.path / SUMS).is_file():
        write_sums(checkpoint.path)
    counts = f"{len(fitted):,} examples, threshold chosen on {len(lacking):,}"
    click.echo(f"{out}: fitted on {counts}", err=True)
