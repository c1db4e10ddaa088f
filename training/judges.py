"""Fit the judges that need no training of the model: the scored proof and the binary classifier.

Run as ``python -m training.judges --claims train.jsonl --dev dev.jsonl --kb KB --model mini``. It
takes some minutes on one core. Weights are fitted on the training claims; the development claims
choose the thresholds and nothing else. These are set for a high recall of insufficient evidence: to
go on in vain costs a hop, to stop too early the answer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click
import torch
from safetensors.torch import save
from torch import nn

from admiral.checkpoint import SUFFICIENCY_HEAD, Checkpoint, load_checkpoint
from admiral.checkpoint_sums import SUMS, write_sums
from admiral.files import write_atomically
from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, locate
from proofs.calibrated import WEIGHTS, Weights
from proofs.classifier import pooled_states
from proofs.support import CLAIM_FEATURES, STEP_FEATURES, Support, SupportFinder
from proofs.wordnet import default_lexicon
from training.sufficiency import LabelledEvidence, labelled_evidence, own_sentences

# The highest step stands for the claim; while fitting, softly, so that the others learn besides.
_SHARPNESS = 5.0
_RIDGE = 1e-3
_HEAD_RIDGE = 3e-2
# To so many gold claims comes one claim that a single document covers.
_OWN_SHARE = 8


def fit_weights(supports: Sequence[Support], insufficient: torch.Tensor) -> Weights:
    """Fit the weights of step scores by logistic regression of claims on their highest step.

    Parameters
    ----------
    supports
        Features of claims.
    insufficient
        1 where the evidence lacks something, else 0; (claims,).

    Returns
    -------
    Weights
        With the threshold at which claims are as likely to be insufficient as not.
    """
    claims = torch.tensor([s.claim for s in supports])
    owner = torch.tensor([at for at, s in enumerate(supports) for _ in s.steps])
    rows = torch.cat([claims[owner], torch.tensor([row for s in supports for row in s.steps])], 1)
    centre, spread = rows.mean(0), rows.std(0).clamp(min=1e-6)
    rows = (rows - centre) / spread
    # The rows of each claim, and whether there is one: short claims have places left over.
    counts = owner.bincount()
    columns = torch.arange(int(counts.max()))
    places = (counts.cumsum(0) - counts)[:, None] + columns
    real = columns < counts[:, None]
    places = torch.where(real, places, 0)

    def claim_scores(scores: torch.Tensor) -> torch.Tensor:
        each = scores[places].masked_fill(~real, -1e4)
        return torch.logsumexp(_SHARPNESS * each, 1) / _SHARPNESS

    found = _minimise(rows, insufficient, _RIDGE, claim_scores)
    weight = found[:-1] / spread
    split = len(CLAIM_FEATURES)
    return Weights(
        dict(zip(CLAIM_FEATURES, weight[:split].tolist(), strict=True)),
        dict(zip(STEP_FEATURES, weight[split:].tolist(), strict=True)),
        float((weight * centre).sum() - found[-1]),
    )


def fit_head(states: torch.Tensor, sufficient: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Fit weight and bias of a linear head on (claims, width) states by logistic regression."""
    centre, spread = states.mean(0), states.std(0).clamp(min=1e-6)
    found = _minimise((states - centre) / spread, sufficient, _HEAD_RIDGE, lambda scores: scores)
    weight = found[:-1] / spread
    return weight, float(found[-1] - (weight * centre).sum())


def threshold_of_recall(scores: Sequence[float], positive: Sequence[bool], recall: float) -> float:
    """Return the highest threshold above which at least a share `recall` of the positive ones are.

    It lies halfway between two scores, or just below all of them.
    """
    wanted = math.ceil(recall * sum(positive) - 1e-9)
    least = sorted((s for s, p in zip(scores, positive, strict=True) if p), reverse=True)[
        max(wanted, 1) - 1
    ]
    below = max((s for s in scores if s < least), default=least - 1.0)
    return (least + below) / 2


def _minimise(
    rows: torch.Tensor,
    targets: torch.Tensor,
    ridge: float,
    claim_scores: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Return weights of the columns and a bias that minimise the logistic loss of claim scores."""
    found = torch.zeros(rows.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([found], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = claim_scores(rows @ found[:-1] + found[-1])
        value = nn.functional.binary_cross_entropy_with_logits(logits, targets)
        value = value + ridge * found[:-1].square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return found.detach()


def _insufficient(labelled: Sequence[LabelledEvidence]) -> list[bool]:
    return [not one.sufficient for one in labelled]


def fit_calibrated(
    train: Sequence[LabelledEvidence], held: Sequence[LabelledEvidence], recall: float, seed: int
) -> Weights:
    """Return the weights of the scored proof; the held claims choose the threshold."""
    finder = SupportFinder(default_lexicon())
    mixed = [*train, *islice(own_sentences(train, seed), len(train) // _OWN_SHARE)]
    fitted = fit_weights(
        [finder.find(one.claim, one.evidence) for one in mixed],
        torch.tensor(_insufficient(mixed), dtype=torch.float32),
    )
    highest = [max(fitted.scores(finder.find(one.claim, one.evidence))) for one in held]
    return replace(fitted, threshold=threshold_of_recall(highest, _insufficient(held), recall))


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[LabelledEvidence],
    held: Sequence[LabelledEvidence],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Return weight and bias of the classifier's head; the held claims choose the bias."""
    states = [
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [one.claim for one in part],
            [one.evidence for one in part],
        )
        for part in (train, held)
    ]
    weight, _ = fit_head(states[0], 1.0 - torch.tensor(_insufficient(train), dtype=torch.float32))
    scores = (-(states[1] @ weight)).tolist()
    bias = threshold_of_recall(scores, _insufficient(held), recall)
    return {"weight": weight.contiguous(), "bias": torch.tensor(bias)}


@click.command()
@click.option("--claims", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--dev", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--kb", default="demo", show_default=True)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    type=click.Choice(["calibrated", "classifier"]),
    default=("calibrated", "classifier"),
    show_default=True,
)
@click.option("--model", default="mini", show_default=True, help="Whose encoder classifies.")
@click.option(
    "--recall",
    default=0.92,
    show_default=True,
    help="Share of insufficient evidence that the thresholds are to tell, on the dev claims.",
)
@click.option("--limit", default=1000, show_default=True, help="Training claims at most.")
@click.option("--weights", type=click.Path(path_type=Path), default=WEIGHTS, show_default=True)
@click.option(
    "--head",
    type=click.Path(path_type=Path),
    help=f"File of the classifier's head.  [default: {SUFFICIENCY_HEAD} beside the checkpoint]",
)
@click.option("--precision", type=click.Choice(["fp32", "bf16"]), default="fp32", show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(
    claims: Path,
    dev: Path,
    kb: str,
    judges: tuple[str, ...],
    model: str,
    recall: float,
    limit: int,
    weights: Path,
    head: Path | None,
    precision: str,
    seed: int,
) -> None:
    """Fit the judges `calibrated` and `classifier` on claims with gold sentences."""
    with KnowledgeBase.open(locate(kb)) as corpus:
        drawn = list(read_gold(claims))
        random.Random(seed).shuffle(drawn)
        train = list(labelled_evidence(corpus, islice(drawn, limit), seed=seed))
        held = list(labelled_evidence(corpus, read_gold(dev), seed=seed))
    if not train or not held:
        raise click.ClickException("the knowledge base holds the gold sentences of no claim")
    if "calibrated" in judges:
        fit_calibrated(train, held, recall, seed).write(weights)
        click.echo(f"{weights}", err=True)
    if "classifier" in judges:
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        checkpoint = load_checkpoint(model, dtype=dtype)
        file = head or checkpoint.path / SUFFICIENCY_HEAD
        write_atomically(file, [save(fit_classifier(checkpoint, train, held, recall))])
        if (file.parent / SUMS).is_file():
            write_sums(file.parent)
        click.echo(f"{file}", err=True)


if __name__ == "__main__":
    main()
