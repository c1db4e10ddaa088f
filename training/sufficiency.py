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
from admiral.models.checkpoint import SUFFICIENCY_HEAD, SUMS, load_checkpoint, write_sums
from admiral.requirements import is_bundled
from admiral.storage.atomic_files import write_atomically
from proofs.judges.generated import pooled_states
from training.command_options import kb_option, limit_option, program, seed_option
from training.data.evidence_corpora import sufficiency_examples
from training.feature_fits import fit_logistic

_RIDGE = 3e-2
_FILE = click.Path(path_type=Path, exists=True)


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


@program
@click.option("--claims", type=_FILE, required=True)
@click.option("--dev", type=_FILE, required=True)
@kb_option()
@click.option("--model", required=True, help="Checkpoint directory, to which the fit is added.")
@click.option(
    "--recall",
    default=0.92,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of insufficient evidence that the judge must detect on the dev claims.",
)
@limit_option(2000)
@seed_option
def main(
    claims: Path, dev: Path, kb: str, model: str, recall: float, limit: int, seed: int
) -> None:
    """Fit the judge `classifier` on claims with gold sentences."""
    if is_bundled(model):
        remedy = "Train one, or name the directory of a copy"
        raise click.UsageError(f"--model {model}: the bundled model cannot be changed. {remedy}.")
    with KnowledgeBase.open(locate(kb)) as corpus:
        train_claims = list(read_gold(claims))
        random.Random(seed).shuffle(train_claims)
        del train_claims[limit:]
        examples = {
            path: list(sufficiency_examples(corpus, gold, seed=seed))
            for path, gold in ((dev, read_gold(dev)), (claims, train_claims))
        }
    for path, own in examples.items():
        if not own:
            raise AdmiralError(
                f"{path}: {kb} holds all gold sentences of no claim. Give the knowledge base that "
                "the claims were annotated on"
            )
    checkpoint = load_checkpoint(model)
    states = {
        path: pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [example.claim for example in own],
            [example.evidence for example in own],
        ).double()
        for path, own in examples.items()
    }
    sufficient = [int(example.sufficient) for example in examples[claims]]
    _, deviation, fitted = fit_logistic(states[claims].numpy(), sufficient, _RIDGE)
    weight = torch.from_numpy(fitted / deviation)
    lacking = [not example.sufficient for example in examples[dev]]
    bias = threshold_at_recall((-(states[dev] @ weight)).tolist(), lacking, recall)
    head = {"weight": weight.float(), "bias": torch.tensor(bias, dtype=torch.float32)}
    out = checkpoint.path / SUFFICIENCY_HEAD
    write_atomically(out, [save(head)])
    if (checkpoint.path / SUMS).is_file():
        write_sums(checkpoint.path)
    counts = f"{len(sufficient):,} examples, threshold chosen on {len(lacking):,}"
    click.echo(f"{out}: fitted on {counts}", err=True)
