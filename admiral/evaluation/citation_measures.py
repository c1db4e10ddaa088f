"""Measures of the verification of citations: how well scores tell labels apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

#: Names of the comparisons of labels: which are to have higher scores than which.
COMPARISONS = {
    "supported > not": ((2,), (0,)),
    "rest > not": ((1, 2), (0,)),
    "supported > rest": ((2,), (0, 1)),
}
#: Recall at which the paper states its precision.
PAPER_RECALL = 0.15
_RESAMPLES = 2000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95% percentile bootstrap interval over claims."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedAuroc:
    """The difference of the AUROC of two scores of the same claims."""

    difference: Interval  # that of the second score minus that of the first, with its interval
    p_value: float  # Two-sided p-value of the paired bootstrap


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the probability that a positive has a higher score than a negative, ties as halves.

    NaN if there are no positives or no negatives.
    """
    wins = _wins(np.asarray(scores, float), np.asarray(positive, bool))
    return float(wins.mean()) if wins.size else math.nan


def auroc_interval(scores: Sequence[float], positive: Sequence[bool]) -> Interval:
    """Return the AUROC with its interval."""
    labels = np.asarray(positive, bool)
    samples = _bootstrap(_wins(np.asarray(scores, float), labels), labels)
    return _interval(auroc(scores, positive), samples)


def paired_auroc(
    first: Sequence[float], second: Sequence[float], positive: Sequence[bool]
) -> PairedAuroc:
    """Compare two scores of the same claims by the paired bootstrap.

    Both are measured on the same resamples. The p-value is twice the share of resamples in which
    the difference has the other sign or is 0, at most 1.
    """
    labels = np.asarray(positive, bool)
    wins = [_wins(np.asarray(scores, float), labels) for scores in (first, second)]
    # The difference is linear in the comparisons of pairs.
    samples = _bootstrap(wins[1] - wins[0], labels)
    difference = float((wins[1] - wins[0]).mean()) if wins[0].size else math.nan
    shares = [float((samples <= 0).mean()), float((samples >= 0).mean())]
    p_value = min(1.0, 2 * (min(shares) * len(samples) + 1) / (len(samples) + 1))
    return PairedAuroc(_interval(difference, samples), p_value)


def precision_at_recall(
    scores: Sequence[float], bad: Sequence[bool], recall: float = PAPER_RECALL
) -> float:
    """Return the share of bad claims among the lowest scores, where a share of all bad is found.

    Ties are broken by the order of the claims. NaN without bad claims.
    """
    wanted = math.ceil(recall * sum(bad))
    if not wanted:
        return math.nan
    found = 0
    order = sorted(range(len(scores)), key=lambda at: scores[at])
    for rank, at in enumerate(order, 1):
        found += bad[at]
        if found == wanted:
            return found / rank
    raise AssertionError("unreachable")


def lowest_share(scores: Sequence[float], bad: Sequence[bool], share: float) -> float:
    """Return the share of bad claims among the claims with the lowest scores."""
    count = max(math.ceil(share * len(scores)), 1)
    order = sorted(range(len(scores)), key=lambda at: scores[at])[:count]
    return sum(bad[at] for at in order) / count


def balanced_accuracy(said: Sequence[bool], positive: Sequence[bool]) -> float:
    """Return the mean of the recalls of positives and negatives; NaN if there are none of one."""
    pairs = list(zip(said, positive, strict=True))
    recalls = []
    for label in (True, False):
        own = [answer == label for answer, truth in pairs if truth == label]
        recalls.append(sum(own) / len(own) if own else math.nan)
    return sum(recalls) / 2


def best_threshold(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the threshold with the highest balanced accuracy; scores from it on are positive."""
    ordered = sorted(set(scores))
    cuts = [ordered[0], *((a + b) / 2 for a, b in pairwise(ordered))]
    return max(cuts, key=lambda cut: balanced_accuracy([s >= cut for s in scores], positive))


def _wins(scores: Floats, positive: NDArray[np.bool_]) -> Floats:
    """Return 1, 0.5 or 0 for each positive and negative: (positives, negatives)."""
    own, others = scores[positive][:, None], scores[~positive][None, :]
    wins: Floats = (own > others) + 0.5 * (own == others)
    return wins


def _bootstrap(wins: Floats, positive: NDArray[np.bool_]) -> Floats:
    rng = np.random.default_rng(0)
    samples = np.empty(_RESAMPLES)
    for at in range(_RESAMPLES):
        counts = np.bincount(
            rng.integers(0, len(positive), len(positive)), minlength=len(positive)
        ).astype(float)
        own, others = counts[positive], counts[~positive]
        total = own.sum() * others.sum()
        samples[at] = own @ wins @ others / total if total else np.nan
    return samples[~np.isnan(samples)]


def _interval(value: float, samples: Floats) -> Interval:
    if not len(samples):
        return Interval(value, math.nan, math.nan)
    low, high = np.percentile(samples, [2.5, 97.5])
    return Interval(value, float(low), float(high))
