"""Fits of the judges and of the final ranking, and the thresholds that keep a recall."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from admiral.stages.clues import CLUES
from admiral.stages.relevance import Relevance, Unit
from proofs.calibrated import Weights
from proofs.support import CLAIM_FEATURES, STEP_FEATURES, Support

# The highest step stands for the claim; while fitting, softly, so that the others learn besides.
_SHARPNESS = 5.0
_RIDGE = 1e-3
_HEAD_RIDGE = 3e-2
# Of the network that ranks documents.
_UNITS, _STEPS, _RATE, _UNIT_RIDGE = 8, 300, 0.03, 1e-2
# Clues that may count against a document: `seen_last` makes up for the standing that documents have
# unread, the rest depends on the kind of claim; one that names many documents rather asks for
# another one. A better place, standing or share among what hops read, choose or mention never does.
_EITHER_WAY = ("first_stage", "named", "named_early", "seen_last", "probability")


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


def fit_relevance(
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
    free = torch.tensor([name in _EITHER_WAY for name in CLUES])

    def weights() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.where(free, hidden.weight, hidden.weight.abs()), votes.weight[0].abs()

    rows = torch.cat(list(clues))
    centre, spread = rows.mean(0), rows.std(0).clamp(min=1e-6)
    inputs = pad_sequence([(one - centre) / spread for one in clues], batch_first=True)
    right = pad_sequence(list(gold), batch_first=True)
    wrong = pad_sequence([~one for one in gold], batch_first=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        hidden = nn.Linear(rows.shape[1], _UNITS)
        votes = nn.Linear(_UNITS, 1, bias=False)
    parameters = [*hidden.parameters(), *votes.parameters()]
    optimizer = torch.optim.Adam(parameters, _RATE)
    for _ in range(_STEPS):
        weight, vote = weights()
        scores = (inputs @ weight.T + hidden.bias).tanh() @ vote
        best_wrong = scores.masked_fill(~wrong, -torch.inf).logsumexp(1)
        worst_right = -(-scores).masked_fill(~right, -torch.inf).logsumexp(1)
        loss = nn.functional.softplus(best_wrong - worst_right).mean()
        loss = loss + _UNIT_RIDGE * sum(one.square().sum() for one in parameters)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        weight, vote = weights()
        weight = weight / spread
        bias = hidden.bias - weight @ centre
    return Relevance(
        tuple(
            Unit(worth, start, dict(zip(CLUES, row, strict=True)))
            for worth, start, row in zip(vote.tolist(), bias.tolist(), weight.tolist(), strict=True)
        )
    )


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
