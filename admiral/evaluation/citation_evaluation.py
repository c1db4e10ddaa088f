"""Evaluate verdicts on citations against the labels of WiCE, and rankings and scores on WAFER.

A claim whose source was not checked has no score. It never counts as flagged, and is left out of
all measures of scores; how many there are is reported.

By the rules of SIDE and KILT for WAFER, the rank of a page is that of its best passage, pages
that occur twice count once, and of several valid pages one suffices. URLs are compared in canonical
form, which KILT does not do. Whether scores find citations that fail is measured on those that
editors have tagged, against those of featured articles, which are assumed to be right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from admiral.citations.citation_file import WICE_LABELS, WaferCitation, WiceCitation
from admiral.errors import AdmiralError
from admiral.sources.canonical_urls import canonical, depth

#: Names of the comparisons of labels: which are to have higher scores than which.
COMPARISONS = {
    "supported > not": ((2,), (0,)),
    "rest > not": ((1, 2), (0,)),
    "supported > rest": ((2,), (0, 1)),
}
#: Recall at which the paper states its precision.
PAPER_RECALL = 0.15
_SUPPORTED = len(WICE_LABELS) - 1
_LOWEST = (0.05, 0.1, 0.2)
_CUTS = (1, 5, 20)

Labelled = TypeVar("Labelled", WiceCitation, WaferCitation)
Verdicts = Mapping[str, Mapping[str, Any]]  # records of `admiral verify-citation` by id of claim
Value = tuple[float | None, float | None, float | None]  # with the limits of its 95% interval


@dataclass(frozen=True, slots=True)
class CitationEvaluation:
    """The measures of a run by name."""

    measures: Mapping[str, Value]
    decisions: Mapping[str, Mapping[str, int]]
    not_scored: int
    claims: int


def evaluate_citations(gold: Sequence[WiceCitation], verdicts: Verdicts) -> CitationEvaluation:
    """Evaluate verdicts; raise AdmiralError if a claim has none."""
    rows = _paired(gold, verdicts)
    scored = [
        (WICE_LABELS.index(each.label), score, bool(record["flagged"]))
        for each, record in rows
        if (score := verdict_score(record)) is not None
    ]
    measures: dict[str, Value] = {}
    for name, (positive, negative) in COMPARISONS.items():
        chosen = [
            (score, label in positive) for label, score, _ in scored if label in positive + negative
        ]
        interval = auroc_interval([score for score, _ in chosen], [good for _, good in chosen])
        limits = (interval.value, interval.low, interval.high)
        value, low, high = map(_known, limits)
        measures[f"AUROC, {name}"] = (value, low, high)
    sure = [(score, label == 0) for label, score, _ in scored if label in (0, _SUPPORTED)]
    scores, bad = [score for _, score, _ in scored], [label == 0 for label, _, _ in scored]
    singles = {
        f"precision at {PAPER_RECALL:.0%} recall, not in sup+not": precision_at_recall(
            [score for score, _ in sure], [bad for _, bad in sure]
        ),
        **{
            f"share of not supported in the lowest {share:.0%}": lowest_share(scores, bad, share)
            for share in (_LOWEST if scores else ())
        },
        "balanced accuracy of flags, not v rest": balanced_accuracy([f for *_, f in scored], bad),
        **_ranking(rows),
    }
    measures |= {name: (_known(value), None, None) for name, value in singles.items()}
    decisions: dict[str, dict[str, int]] = {}
    for each, record in rows:
        own = decisions.setdefault(str(record["decision"]), dict.fromkeys(WICE_LABELS, 0))
        own[each.label] += 1
    return CitationEvaluation(measures, decisions, len(rows) - len(scored), len(rows))


def _paired(
    gold: Sequence[Labelled], verdicts: Verdicts
) -> list[tuple[Labelled, Mapping[str, Any]]]:
    for each in gold:
        if each.claim.id not in verdicts:
            raise AdmiralError(
                f"claim {each.claim.id!r}: has no verdict. Give verdicts on all claims of the gold "
                "file"
            )
    return [(each, verdicts[each.claim.id]) for each in gold]


def _ranking(rows: Sequence[tuple[WiceCitation, Mapping[str, Any]]]) -> dict[str, float]:
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
        f"cited page within the first {cut}": sum(r <= cut for r in ranks) / len(ranks)
        for cut in _CUTS
    }


def verdict_score(record: Mapping[str, Any]) -> float | None:
    """Return the highest score of the existing sources of a verdict, alone or together."""
    scores = [one["score"] for one in record["existing"] if one["score"] is not None]
    if record.get("together") is not None:
        scores.append(record["together"]["score"])
    return max(scores, default=None)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


_RESAMPLES = 2000

Floats = NDArray[np.float64]


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
    found = np.cumsum(np.asarray(bad)[np.argsort(scores, kind="stable")])
    return float(wanted / (np.searchsorted(found, wanted) + 1)) if wanted else math.nan


def lowest_share(scores: Sequence[float], bad: Sequence[bool], share: float) -> float:
    """Return the share of bad claims among the claims with the lowest scores."""
    count = max(math.ceil(share * len(scores)), 1)
    return float(np.mean(np.asarray(bad)[np.argsort(scores, kind="stable")[:count]]))


def balanced_accuracy(said: Sequence[bool], positive: Sequence[bool]) -> float:
    """Return the mean of the recalls of positives and negatives; NaN if there are none of one."""
    truth = np.asarray(positive, bool)
    right = np.asarray(said, bool) == truth
    if truth.all() or not truth.any():
        return math.nan
    return float(right[truth].mean() + right[~truth].mean()) / 2


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


#: Cut-offs of the rankings; at 1, the success rate is the precision.
CUTS = (1, 5, 20, 100, 200)
#: Recalls of failed citations at which the precision is measured; SIDE states that at 0.15.
RECALLS = (0.05, 0.1, 0.15, 0.25, 0.5, 0.75, 1.0)
#: What is ranked: the search alone, and what the verifier makes of it.
RANKINGS = {"search": "found", "verified": "ranking"}


def evaluate_wafer(gold: Sequence[WaferCitation], verdicts: Verdicts) -> dict[str, Any]:
    """Evaluate verdicts of `admiral verify-citation --set ranked=200`.

    - `claims`: number of claims by group, without those that fail
    - `rankings`: the success rate at each of `CUTS`, for each ranking and group with claims
    - `failed`, `good`, `not_scored`: citations of the curves, and those left out without a score
    - `curves`: of the scores, and of the depth of URLs: the precision of the lowest scores, at each
      of `RECALLS`, and the probability that a good citation has a higher score than a failed one
    """
    rows = _paired(gold, verdicts)
    ranked = [row for row in rows if not row[0].failed]
    groups = {
        "featured": [row for row in ranked if row[0].featured],
        "other": [row for row in ranked if not row[0].featured],
        "all": ranked,
    }
    rankings = []
    for ranking, field in RANKINGS.items():
        for name, members in groups.items():
            if ranks := [_rank(each, record, field) for each, record in members]:
                rates = (sum(0 < rank <= cut for rank in ranks) / len(ranks) for cut in CUTS)
                own = dict(zip(_names(), rates, strict=True))
                rankings.append({"ranking": ranking, "group": name, **own})
    pool = [row for row in rows if row[0].failed or row[0].featured]
    scored = [
        (score, each) for each, record in pool if (score := verdict_score(record)) is not None
    ]
    bad = [each.failed for _, each in scored]
    depths = [
        float(max((depth(one.url) for one in each.claim.citations), default=0))
        for _, each in scored
    ]
    return {
        "task": "wafer",
        "claims": {name: len(members) for name, members in groups.items()},
        "rankings": rankings,
        "failed": sum(bad),
        "good": len(bad) - sum(bad),
        "not_scored": len(pool) - len(scored),
        "curves": {
            "score": _curve([score for score, _ in scored], bad),
            "depth of the URL": _curve(depths, bad),
        },
    }


def _rank(citation: WaferCitation, record: Mapping[str, Any], field: str) -> int:
    """Return the first rank of a valid source, from 1; 0 if none is ranked."""
    if field not in record:
        raise AdmiralError(
            f"claim {citation.claim.id!r}: its verdict has no ranking. Verify the citations with "
            "--set ranked=200"
        )
    valid = {canonical(each.url) for each in citation.claim.citations}
    urls = [each if isinstance(each, str) else each["url"] for each in record[field]]
    pages = list(dict.fromkeys(map(canonical, urls)))
    return next((rank for rank, url in enumerate(pages, 1) if url in valid), 0)


def _curve(scores: Sequence[float], bad: Sequence[bool]) -> dict[str, Any]:
    precisions = (_known(precision_at_recall(scores, bad, recall)) for recall in RECALLS)
    area = _known(auroc(scores, [not each for each in bad]))
    return {"precision": dict(zip(map(str, RECALLS), precisions, strict=True)), "auroc": area}


def evaluation_lines(result: Mapping[str, Any]) -> list[str]:
    """Return what `evaluate_wafer` returns as text: a table of rankings, and one of curves."""
    names = _names()
    lines = [f"{'ranking':<10}{'group':<10}{'claims':>8}" + "".join(f"{name:>8}" for name in names)]
    for row in result["rankings"]:
        cells = "".join(f"{100 * row[name]:>8.2f}" for name in names)
        claims = result["claims"][row["group"]]
        lines.append(f"{row['ranking']:<10}{row['group']:<10}{claims:>8}{cells}")
    if not result["failed"] or not result["good"]:
        return [*lines, "", "no failed citations beside featured ones: no curve"]
    lines += [
        "",
        f"failed verification: {result['failed']} failed, {result['good']} of featured articles, "
        f"{result['not_scored']} not scored; precision at recall",
        f"{'':<18}" + "".join(f"{recall:>8.0%}" for recall in RECALLS) + f"{'AUROC':>8}",
    ]
    for name, curve in result["curves"].items():
        values = [*curve["precision"].values(), curve["auroc"]]
        lines.append(
            f"{name:<18}" + "".join(f"{'–' if v is None else f'{v:.3f}':>8}" for v in values)
        )
    return lines


def _names() -> list[str]:
    return [f"P@{cut}" if cut == 1 else f"SR@{cut}" for cut in CUTS]
