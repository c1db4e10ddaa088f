"""How an answer overlaps with gold: pure functions of titles or sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence, Set
from typing import NamedTuple, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def all_found(sets: Sequence[Set[Item]], found: Collection[Item]) -> bool:
    """Return whether every member of at least one of the alternative sets was found."""
    return any(one <= set(found) for one in sets)


def recall_at(sets: Sequence[Set[str]], ranking: Sequence[str], k: int) -> bool:
    """Return whether one of the sets is whole among the first `k` (the paper's recall@k)."""
    return all_found(sets, ranking[:k])


def exact_match(sets: Sequence[Set[str]], ranking: Sequence[str]) -> bool:
    """Return whether the ranking begins with the documents of one of the sets, in any order."""
    return any(one == set(ranking[: len(one)]) for one in sets)


def best_overlap(sets: Sequence[Set[Item]], found: Collection[Item]) -> Overlap:
    """Return the overlap with the set that gives the highest F1; zeros where nothing was found."""
    distinct = set(found)
    overlaps = [Overlap(0.0, 0.0, 0.0)]
    for one in sets:
        shared = len(one & distinct)
        if shared:
            precision, recall = shared / len(distinct), shared / len(one)
            overlaps.append(Overlap(precision, recall, 2 * shared / (len(distinct) + len(one))))
    return max(overlaps, key=lambda overlap: overlap.f1)


def counted_f1(gold: Sequence[Item], found: Sequence[Item]) -> float:
    """Return HoVer's F1 of two lists; repetitions count, and two empty lists agree."""
    if not gold or not found:
        return float(not gold and not found)
    shared = sum((Counter(gold) & Counter(found)).values())
    return 2 * shared / (len(gold) + len(found))
