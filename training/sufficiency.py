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

import click
import torch
from safetensors.torch import save

from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import (
    SUFFICIENCY_HEAD,
    SUMS,
    Checkpoint,
    load_checkpoint,
    write_sums,
)
from admiral.requirements import is_bundled
from admiral.storage.atomic_files import write_atomically
from proofs.judges.generated import pooled_states
from training.command_options import program, seed_option
from training.data.evidence_corpora import SufficiencyExample, sufficiency_examples
from training.feature_fits import fit_linear_head


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


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Fit the head of the judge `classifier` on the states of a checkpoint's encoder.

    `recall`: share of the insufficient `dev` examples that must be classified as insufficient.

    The result has ``weight``, (width,), and ``bias``, a scalar.
    """
    train_states, dev_states = (
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [example.claim for example in examples],
            [example.evidence for example in examples],
        )
        for examples in (train, dev)
    )
    weight = fit_linear_head(train_states, [example.sufficient for example in train])
    scores = (-(dev_states @ weight)).tolist()
    bias = threshold_at_recall(scores, [not example.sufficient for example in dev], recall)
    return {"weight": weight.contiguous(), "bias": torch.tensor(bias)}


@program
@click.option("--claims", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--dev", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", required=True, help="Checkpoint directory, to which the fit is added.")
@click.option(
    "--recall",
    default=0.92,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of insufficient evidence that the judge must detect on the dev claims.",
)
@click.option(
    "--limit",
    default=2000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of training claims.",
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    default="fp32",
    show_default=True,
    help="Precision of the encoder.",
)
@seed_option
def main(
    claims: Path,
    dev: Path,
    kb: str,
    model: str,
    recall: float,
    limit: int,
    precision: str,
    seed: int,
) -> None:
    """Fit the judge `classifier` on claims with gold sentences."""
    if is_bundled(model):
        remedy = "Train one, or name the directory of a copy"
        raise click.UsageError(f"--model {model}: the bundled model cannot be changed. {remedy}.")
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    with KnowledgeBase.open(locate(kb)) as corpus:
        train_claims = list(read_gold(claims))
        random.Random(seed).shuffle(train_claims)
        del train_claims[limit:]
        train = list(sufficiency_examples(corpus, train_claims, seed=seed))
        dev_examples = list(sufficiency_examples(corpus, read_gold(dev), seed=seed))
    for path, examples in ((claims, train), (dev, dev_examples)):
        if not examples:
            raise AdmiralError(
                f"{path}: {kb} holds all gold sentences of no claim. Give the knowledge base "
                "that the claims were annotated on"
            )
    checkpoint = load_checkpoint(model, dtype=dtype)
    out = checkpoint.path / SUFFICIENCY_HEAD
    write_atomically(out, [save(fit_classifier(checkpoint, train, dev_examples, recall))])
    if (checkpoint.path / SUMS).is_file():
        write_sums(checkpoint.path)
    click.echo(
        f"{out}: fitted on {len(train):,} examples, threshold chosen on {len(dev_examples):,}",
        err=True,
    )
