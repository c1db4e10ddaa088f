"""Fits of the judges and of the final ranking, and the thresholds that keep a recall."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from admiral.ranking.document_scorer import Relevance
from admiral.ranking.features import CLUES
from proofs.judges.calibrated import FEATURES, Weights
from proofs.judges.support import Support
from training.fitting.network_fit import FitSettings, fit_units, of_rows

# The highest step stands for the claim; while fitting, softly, so that the others learn besides.
_SHARPNESS = 5.0
_HEAD_RIDGE = 3e-2
# Of the networks that score the steps of proofs, and documents.
_STEPS = FitSettings(units=16, iterations=150, rate=0.05, ridge=3e-3)
_DOCUMENTS = FitSettings(units=8, iterations=300, rate=0.03, ridge=1e-2)
# Clues that may count against a document: `seen_last` makes up for the standing that documents have
# unread, the rest depends on the kind of claim; one that names many documents rather asks for
# another one. A better place, standing or share among what hops read, choose or mention never does.
_EITHER_WAY = ("first_stage", "named", "named_early", "seen_last", "probability")


def fit_step_scorer(
    supports: Sequence[Support], insufficient: torch.Tensor, seed: int = 0
) -> Weights:
    """Fit the network of step scores by the logistic loss of claims on their highest step.

    Parameters
    ----------
    supports
        Features of claims.
    insufficient
        1 where the evidence lacks something, else 0; (claims,).
    seed
        Of the first weights.

    Returns
    -------
    Weights
        With the threshold at which claims are as likely to be insufficient as not.
    """
    rows = [torch.tensor([(*one.claim, *step) for step in one.steps]) for one in supports]
    steps = of_rows(rows)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        each = scores.masked_fill(~steps, -1e4)
        highest = torch.logsumexp(_SHARPNESS * each, 1) / _SHARPNESS
        return nn.functional.binary_cross_entropy_with_logits(highest, insufficient)

    units, offset = fit_units(rows, FEATURES, loss, _STEPS, seed=seed, shifted=True)
    return Weights(units, -offset)


def fit_head(states: torch.Tensor, sufficient: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Fit weight and bias of a linear head on (claims, width) states by logistic regression."""
    centre, spread = states.mean(0), states.std(0).clamp(min=1e-6)
    rows = (states - centre) / spread
    found = torch.zeros(rows.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([found], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = rows @ found[:-1] + found[-1]
        value = nn.functional.binary_cross_entropy_with_logits(logits, sufficient)
        value = value + _HEAD_RIDGE * found[:-1].square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
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


def fit_document_scorer(
    clues: Sequence[torch.Tensor], gold: Sequence[torch.Tensor], seed: int = 0
) -> Relevance:
    """Fit the weights that rank documents, so that all gold documents come before the others.

    What counts is the gold document with the lowest score, against all others together: a claim is
    answered when the last of its documents has been found.

    Parameters
    ----------
    clues
        For each claim the clues of its documents, float32, (documents, clues).
    gold
        For each claim which of them are gold, bool, (documents,); some, and not all.
    seed
        Of the first weights.

    Returns
    -------
    Relevance
        With units that read clues as they are, not standardised. No vote is negative, nor is a
        weight of what must not count against a document.
    """
    right = pad_sequence(list(gold), batch_first=True)
    wrong = pad_sequence([~one for one in gold], batch_first=True)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        best_wrong = scores.masked_fill(~wrong, -torch.inf).logsumexp(1)
        worst_right = -(-scores).masked_fill(~right, -torch.inf).logsumexp(1)
        return nn.functional.softplus(best_wrong - worst_right).mean()

    units, _ = fit_units(clues, CLUES, loss, _DOCUMENTS, seed=seed, either_way=_EITHER_WAY)
    return Relevance(units)
