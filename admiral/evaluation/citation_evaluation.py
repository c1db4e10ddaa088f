"""Evaluate verdicts on citations against the labels of WiCE.

A claim whose source was not checked has no score. It never counts as flagged, and is left out of
all measures of scores; how many there are is reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from admiral.citations.wice_records import WICE_LABELS, WiceCitation
from admiral.errors import AdmiralError
from admiral.evaluation.citation_measures import (
    COMPARISONS,
    PAPER_RECALL,
    auroc_interval,
    balanced_accuracy,
    lowest_share,
    precision_at_recall,
)
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


def _decisions(
    rows: Sequence[tuple[WiceCitation, Mapping[str, Any]]],
) -> dict[str, dict[str, int]]:
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
