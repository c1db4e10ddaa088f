"""Scores as stages give them, brought to what hops, rankings and JSON can take."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from admiral.errors import AdmiralError
from admiral.records import DocumentSet, ScoredTitle, Sentence

# So that sums of scores, and their squares, are finite, too.
_LARGEST = 1e100

T = TypeVar("T", Sentence, DocumentSet, ScoredTitle)


def plain_scores(stage: str, found: Iterable[T]) -> list[T]:
    """Return what a stage found, its scores as plain floats, without what it scores minus infinity.

    Raises
    ------
    AdmiralError
        For a score that is no number, infinite or huge; the message names the stage.
    """
    kept = []
    for one in found:
        score = float(one.score)  # of NumPy's float32, too, which JSON refuses
        if abs(score) <= _LARGEST:
            kept.append(replace(one, score=score) if type(one.score) is not float else one)
        elif score != -math.inf:
            raise AdmiralError(
                f"stage {stage!r}: the score of {_name(one)} is {score}; let it give finite "
                "numbers, or minus infinity for what is to be left out"
            )
    return kept


def _name(found: Sentence | DocumentSet | ScoredTitle) -> str:
    if isinstance(found, DocumentSet):
        return " + ".join(map(repr, found.titles))
    if isinstance(found, Sentence):
        return f"sentence {found.index} of {found.title!r}"
    return repr(found.title)
