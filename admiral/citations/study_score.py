"""The outcome of a blind study: preferences, majorities, agreement and a sign test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from admiral.citations.study_items import Preference

PREFERENCES: tuple[Preference, ...] = get_args(Preference)
NO_MAJORITY = "no majority"


@dataclass(frozen=True, slots=True)
class SignTest:
    """An exact sign test of suggested against existing sources; ties are left out.

    Attributes
    ----------
    wins, losses
        How often the suggested and how often the existing source was preferred.
    one_tailed
        Probability of at least this number of wins if both were equally good.
    two_tailed
        Probability of a difference at least as large in either direction.
    """

    wins: int
    losses: int
    one_tailed: float
    two_tailed: float


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """The outcome of a study.

    Attributes
    ----------
    annotators, items, annotations
        Number of annotators, of items with an answer, and of answers.
    preferences
        Number of answers by preference.
    majorities
        Number of items by the preference of most of their annotators.
    kappa
        Fleiss' kappa; None if no item has two answers, or all answers are the same.
    by_majority, by_annotation
        Sign tests over items with a majority, and over answers, which are not independent.
    """

    annotators: int
    items: int
    annotations: int
    preferences: Mapping[str, int]
    majorities: Mapping[str, int]
    kappa: float | None
    by_majority: SignTest
    by_annotation: SignTest

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return {
            "annotators": self.annotators,
            "items": self.items,
            "annotations": self.annotations,
            "preferences": dict(self.preferences),
            "majorities": dict(self.majorities),
            "kappa": self.kappa,
            **{
                name: {
                    "wins": test.wins,
                    "losses": test.losses,
                    "one_tailed": test.one_tailed,
                    "two_tailed": test.two_tailed,
                }
                for name, test in (
                    ("by_majority", self.by_majority),
                    ("by_annotation", self.by_annotation),
                )
            },
        }


def score_study(annotators: Sequence[Mapping[str, Preference]]) -> StudyOutcome:
    """Return the outcome of a study.

    Parameters
    ----------
    annotators
        The preference of each annotator by item; not all need to answer all items.
    """
    items: dict[str, Counter[str]] = {}
    for answers in annotators:
        for item, preference in answers.items():
            items.setdefault(item, Counter())[preference] += 1
    preferences = sum(items.values(), Counter[str]())
    majorities = Counter(majority(counts) for counts in items.values())
    return StudyOutcome(
        annotators=len(annotators),
        items=len(items),
        annotations=preferences.total(),
        preferences={each: preferences[each] for each in PREFERENCES},
        majorities={each: majorities[each] for each in (*PREFERENCES, NO_MAJORITY)},
        kappa=fleiss_kappa([[counts[each] for each in PREFERENCES] for counts in items.values()]),
        by_majority=sign_test(majorities["suggested"], majorities["existing"]),
        by_annotation=sign_test(preferences["suggested"], preferences["existing"]),
    )


def majority(counts: Mapping[str, int]) -> str:
    """Return what more than half of the annotators of an item prefer."""
    total = sum(counts.values())
    return next((each for each, count in counts.items() if 2 * count > total), NO_MAJORITY)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Return Fleiss' kappa of items with any number of ratings; None if it is not defined.

    Items with one rating say nothing about agreement and are left out. With equal numbers of
    ratings this is the measure of Fleiss (1971).

    Parameters
    ----------
    counts
        For each item, the number of ratings of each category.
    """
    rated = [row for row in counts if sum(row) >= 2]
    if not rated:
        return None
    total = sum(map(sum, rated))
    agreements: list[float] = [
        (sum(count * count for count in row) - sum(row)) / (sum(row) * (sum(row) - 1))
        for row in rated
    ]
    observed = sum(agreements) / len(rated)
    shares: list[float] = [sum(column) / total for column in zip(*rated, strict=True)]
    expected = sum(share * share for share in shares)
    if expected >= 1.0:
        return None
    return float((observed - expected) / (1 - expected))


def sign_test(wins: int, losses: int) -> SignTest:
    """Return the exact sign test of wins against losses, by the binomial distribution."""
    count = wins + losses

    def at_least(successes: int) -> float:
        ways, term = 0, 1  # the number of outcomes with so many wins, from all wins downwards
        for number in range(count, successes - 1, -1):
            ways += term
            term = term * number // (count - number + 1)
        return float(ways / 2**count)  # integers, so that this is exact before the division

    two_tailed = min(1.0, 2 * at_least(max(wins, losses)))
    return SignTest(wins, losses, at_least(wins), two_tailed)
