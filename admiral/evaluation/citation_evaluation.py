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
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
_LOWEST = (0.05, 0.1, 0.2)
_CUTS = (1, 5, 20)
_RESAMPLES = 2000

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
    labels, scores, flags = np.array(scored, float).reshape(-1, 3).T
    measures: dict[str, Value] = {}
    for name, (positive, negative) in COMPARISONS.items():
        measures[f"AUROC, {name}"] = auroc_interval(
            scores[np.isin(labels, positive)], scores[np.isin(labels, negative)]
        )
    sure, bad = labels != 1, labels == 0
    singles = {
        f"precision at {PAPER_RECALL:.0%} recall, not in sup+not": precision_at_recall(
            scores[sure], bad[sure]
        ),
        **{
            f"share of not supported in the lowest {share:.0%}": lowest_share(scores, bad, share)
            for share in (_LOWEST if scored else ())
        },
        "balanced accuracy of flags, not v rest": _balanced_accuracy(flags > 0, bad),
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
    """Return how high the cited page ranks among itself and the better alternatives shown."""
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
    return None if math.isnan(value) else float(value)


def auroc(positives: Any, negatives: Any, axis: int = -1) -> Any:
    """Return the probability that a positive has a higher score than a negative, ties as halves.

    NaN if there are no positives or no negatives.
    """
    own, others = np.shape(positives)[axis], np.shape(negatives)[axis]
    if not own or not others:
        return math.nan
    ranks = stats.rankdata(np.concatenate([positives, negatives], axis), axis=axis)
    sums = ranks.take(range(own), axis).sum(axis)
    return (sums - own * (own + 1) / 2) / (own * others)  # Mann and Whitney's U


def auroc_interval(positives: Any, negatives: Any) -> Value:
    """Return the AUROC with its 95% percentile bootstrap interval, over both kinds of claims."""
    value = _known(auroc(positives, negatives))
    if min(len(positives), len(negatives)) < 2:
        return value, value, value
    found = stats.bootstrap(
        (positives, negatives), auroc, method="percentile", n_resamples=_RESAMPLES, rng=0
    )
    low, high = found.confidence_interval
    return value, float(low), float(high)


def precision_at_recall(scores: Any, bad: Any, recall: float = PAPER_RECALL) -> float:
    """Return the share of bad claims among the lowest scores, where a share of all bad is found.

    Ties are broken by the order of the claims. NaN without bad claims.
    """
    wanted = math.ceil(recall * sum(bad))
    found = np.cumsum(np.asarray(bad)[np.argsort(scores, kind="stable")])
    return float(wanted / (np.searchsorted(found, wanted) + 1)) if wanted else math.nan


def lowest_share(scores: Any, bad: Any, share: float) -> float:
    """Return the share of bad claims among the claims with the lowest scores."""
    count = max(math.ceil(share * len(scores)), 1)
    return float(np.mean(np.asarray(bad)[np.argsort(scores, kind="stable")[:count]]))


def _balanced_accuracy(said: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    """Return the mean of the recalls of positives and negatives; NaN if there are none of one."""
    if truth.all() or not truth.any():
        return math.nan
    return float(said[truth].mean() + (~said)[~truth].mean()) / 2


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
    failed, kept = (np.asarray(scores)[np.asarray(bad, bool) == which] for which in (True, False))
    area = _known(auroc(kept, failed))
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
