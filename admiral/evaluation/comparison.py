"""Paired comparison of two evaluations of the same claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from admiral.evaluation.bootstrap import paired_comparison
from admiral.evaluation.measures import Group
from admiral.evaluation.tables import difference_records
from admiral.evaluation.tasks import Evaluation


def compare_evaluations(
    first: Evaluation, second: Evaluation, groups: Sequence[Group], seed: int = 0
) -> list[dict[str, Any]]:
    """Return the differences of two runs, second minus first, as JSON records.

    Parameters
    ----------
    first, second
        Evaluations by the same task of the same claims. Measures that only one of them has, such
        as those of sentences, are left out.
    groups
        Groups of claims to compare.
    seed
        Seed of the resampling.

    Returns
    -------
    list
        One record for each group and measure; see `admiral.evaluation.tables.difference_records`.
    """
    shared = {(m.section, m.name) for m in first.measures} & {
        (m.section, m.name) for m in second.measures
    }
    before, after = (
        [m for m in evaluation.measures if (m.section, m.name) in shared]
        for evaluation in (first, second)
    )
    return [
        record
        for group in groups
        for record in difference_records(
            before, paired_comparison(before, after, group, seed), group
        )
    ]
