"""Evaluate rankings of sources and scores of citations on WAFER, by the rules of SIDE and KILT.

A source is a page: its rank is that of its best passage, pages that occur twice count once, and of
several valid pages one suffices. URLs are compared in canonical form, which KILT does not do.
Whether scores find citations that fail is measured on those that editors have tagged, against those
of featured articles, which are assumed to be right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from admiral.citations.wafer_file import WaferCitation
from admiral.errors import AdmiralError
from admiral.evaluation.citation_evaluation import auroc, precision_at_recall, verdict_score
from admiral.library.canonical_urls import canonical, depth

#: Cut-offs of the rankings; at 1, the success rate is the precision.
CUTS = (1, 5, 20, 100, 200)
#: Recalls of failed citations at which the precision is measured; SIDE states that at 0.15.
RECALLS = (0.05, 0.1, 0.15, 0.25, 0.5, 0.75, 1.0)
#: What is ranked: the search alone, and what the verifier makes of it.
RANKINGS = {"search": "found", "verified": "ranking"}
GROUPS = ("featured", "other", "all")


@dataclass(frozen=True, slots=True)
class FailureCurve:
    """Precision of the lowest scores, at each recall of the failing citations."""

    precisions: tuple[float | None, ...]  # at each of `RECALLS`
    area: float | None  # probability that a good citation has a higher score than a failed one


@dataclass(frozen=True, slots=True)
class WaferEvaluation:
    """The measures of a run."""

    claims: Mapping[str, int]  # by group, without those that fail
    # (ranking, group) -> success rate at each of `CUTS`; no group without claims
    rates: Mapping[tuple[str, str], tuple[float, ...]]
    failed: int  # failed and good citations of the curves, and those left out without a score
    good: int
    not_scored: int
    curves: Mapping[str, FailureCurve]  # of the scores, and of the depth of URLs


def evaluate_wafer(
    gold: Sequence[WaferCitation], verdicts: Mapping[str, Mapping[str, Any]]
) -> WaferEvaluation:
    """Evaluate records of verdicts, as `admiral verify-citation --set ranked=200` writes them.

    Raises AdmiralError if a claim has no verdict, or a verdict no ranking.
    """
    for each in gold:
        if each.claim.id not in verdicts:
            raise AdmiralError(
                f"claim {each.claim.id!r}: has no verdict. Give verdicts on all claims of the gold "
                "file"
            )
    ranked = [each for each in gold if not each.failed]
    groups = {
        "featured": [each for each in ranked if each.featured],
        "other": [each for each in ranked if not each.featured],
        "all": ranked,
    }
    rates = {}
    for ranking, field in RANKINGS.items():
        for name, members in groups.items():
            ranks = [_rank(each, verdicts[each.claim.id], field) for each in members]
            if ranks:
                rates[ranking, name] = tuple(
                    sum(0 < rank <= cut for rank in ranks) / len(ranks) for cut in CUTS
                )
    pool = [each for each in gold if each.failed or each.featured]
    rows = [
        (score, each)
        for each in pool
        if (score := verdict_score(verdicts[each.claim.id])) is not None
    ]
    bad = [each.failed for _, each in rows]
    depths = [max((depth(one.url) for one in each.claim.citations), default=0) for _, each in rows]
    return WaferEvaluation(
        {name: len(members) for name, members in groups.items()},
        rates,
        sum(bad),
        len(bad) - sum(bad),
        len(pool) - len(rows),
        {
            "score": _curve([score for score, _ in rows], bad),
            "depth of the URL": _curve([float(one) for one in depths], bad),
        },
    )


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


def _curve(scores: Sequence[float], bad: Sequence[bool]) -> FailureCurve:
    values = [precision_at_recall(scores, bad, recall) for recall in RECALLS]
    area = auroc(scores, [not each for each in bad])
    return FailureCurve(
        tuple(None if math.isnan(value) else value for value in values),
        None if math.isnan(area) else area,
    )


def evaluation_record(result: WaferEvaluation) -> dict[str, Any]:
    """Return an evaluation as a JSON object."""
    return {
        "task": "wafer",
        "claims": dict(result.claims),
        "rankings": [
            {"ranking": ranking, "group": group, **dict(zip(_names(), values, strict=True))}
            for (ranking, group), values in result.rates.items()
        ],
        "failed": result.failed,
        "good": result.good,
        "not_scored": result.not_scored,
        "curves": {
            name: {
                "precision": dict(zip(map(str, RECALLS), curve.precisions, strict=True)),
                "auroc": curve.area,
            }
            for name, curve in result.curves.items()
        },
    }


def evaluation_lines(result: WaferEvaluation) -> list[str]:
    """Return an evaluation as lines of text: a table of rankings, and one of curves."""
    lines = [
        f"{'ranking':<10}{'group':<10}{'claims':>8}" + "".join(f"{name:>8}" for name in _names())
    ]
    lines += [
        f"{ranking:<10}{group:<10}{result.claims[group]:>8}"
        + "".join(f"{100 * value:>8.2f}" for value in values)
        for (ranking, group), values in result.rates.items()
    ]
    if not result.failed or not result.good:
        return [*lines, "", "no failed citations beside featured ones: no curve"]
    lines += [
        "",
        f"failed verification: {result.failed} failed, {result.good} of featured articles, "
        f"{result.not_scored} not scored; precision at recall",
        f"{'':<18}" + "".join(f"{recall:>8.0%}" for recall in RECALLS) + f"{'AUROC':>8}",
    ]
    for name, curve in result.curves.items():
        values = [*curve.precisions, curve.area]
        cells = "".join(f"{'–' if v is None else f'{v:.3f}':>8}" for v in values)
        lines.append(f"{name:<18}{cells}")
    return lines


def _names() -> list[str]:
    return [f"P@{cut}" if cut == 1 else f"SR@{cut}" for cut in CUTS]
