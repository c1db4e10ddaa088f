"""Evaluate verdicts on citations against the labels of WiCE.

A claim whose source was not checked has no score. It never counts as flagged, and is left out of
all measures of scores; how many there are is reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admiral.citations.citation_file import WICE_LABELS, WiceCitation
from admiral.errors import AdmiralError
from admiral.library.canonical_urls import canonical

_SUPPORTED = len(WICE_LABELS) - 1
_LOWEST = (5, 10, 20)  # percent
_CUTS = (1, 5, 20)


@dataclass(frozen=True, slots=True)
class CitationEvaluation:
    """The measures of a run."""

    # value of each measure by name, with the limits of its 95% interval where it has one; a measure
    # that has no value is None
    measures: Mapping[str, tuple[float | None, float | None, float | None]]
    decisions: Mapping[str, Mapping[str, int]]
    not_scored: int
    claims: int


def evaluate_citations(
    gold: Sequence[WiceCitation], verdicts: Mapping[str, Mapping[str, Any]]
) -> CitationEvaluation:
    """Evaluate records of verdicts.

    `verdicts`: the record of each claim by id, as `admiral verify-citation` writes them. Raises
    AdmiralError if a claim has no verdict.
    """
    for each in gold:
        if each.claim.id not in verdicts:
            raise AdmiralError(
                f"claim {each.claim.id!r}: has no verdict. Give verdicts on all claims of the gold "
                "file"
            )
    rows = [(each, verdicts[each.claim.id]) for each in gold]
    scored = [
        (each, record, score)
        for each, record in rows
        if (score := verdict_score(record)) is not None
    ]
    labels = [WICE_LABELS.index(each.label) for each, _, _ in scored]
    scores = [score for _, _, score in scored]
    measures: dict[str, tuple[float | None, float | None, float | None]] = {}
    for name, (positive, negative) in COMPARISONS.items():
        at = [n for n, label in enumerate(labels) if label in positive + negative]
        interval = auroc_interval([scores[n] for n in at], [labels[n] in positive for n in at])
        measures[f"AUROC, {name}"] = (
            _known(interval.value),
            _known(interval.low),
            _known(interval.high),
        )
    sure = [n for n, label in enumerate(labels) if label in (0, _SUPPORTED)]
    value = precision_at_recall([scores[n] for n in sure], [labels[n] == 0 for n in sure])
    measures[f"precision at {PAPER_RECALL:.0%} recall, not in sup+not"] = _single(value)
    bad = [label == 0 for label in labels]
    for percent in _LOWEST if scores else ():
        name = f"share of not supported in the lowest {percent}%"
        measures[name] = _single(lowest_share(scores, bad, percent / 100))
    flagged = [bool(record["flagged"]) for _, record, _ in scored]
    measures["balanced accuracy of flags, not v rest"] = _single(balanced_accuracy(flagged, bad))
    measures.update(_ranking(rows))
    return CitationEvaluation(measures, _decisions(rows), len(rows) - len(scored), len(rows))


def _ranking(
    rows: Sequence[tuple[WiceCitation, Mapping[str, Any]]],
) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Return how high the cited page ranks among itself and the suggestions.

    The suggestions that a verdict lists are the better alternatives, so that the ranks are those
    within what is shown.
    """
    if not any(record["suggestions"] for _, record in rows):
        return {}
    ranks = []
    for each, record in rows:
        score, own = verdict_score(record), canonical(each.source.url)
        others = [one["score"] for one in record["suggestions"] if canonical(one["url"]) != own]
        better = math.inf if score is None else sum(other > score for other in others)
        ranks.append(1 + better)
    return {
        f"cited page within the first {cut}": _single(sum(r <= cut for r in ranks) / len(ranks))
        for cut in _CUTS
    }


def _decisions(rows: Sequence[tuple[WiceCitation, Mapping[str, Any]]]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for each, record in rows:
        own = counts.setdefault(str(record["decision"]), dict.fromkeys(WICE_LABELS, 0))
        own[each.label] += 1
    return counts


def verdict_score(record: Mapping[str, Any]) -> float | None:
    """Return the highest score of the existing sources of a verdict, alone or together."""
    scores = [one["score"] for one in record["existing"] if one["score"] is not None]
    if record.get("together") is not None:
        scores.append(record["together"]["score"])
    return max(scores, default=None)


def _single(value: float) -> tuple[float | None, None, None]:
    return _known(value), None, None


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


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
