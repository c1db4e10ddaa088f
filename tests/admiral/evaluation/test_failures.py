"""The stage that a claim was lost at, case by case."""

from __future__ import annotations

import pytest

from admiral.evaluation.failures import Stage, stage_of
from admiral.evaluation.predictions import Prediction
from admiral.evaluation.traces import HopTrace, Trace

AB = [frozenset("AB")]


def trace(*hops: tuple[str, str], stopped: str = "sufficient") -> Trace:
    """Return a trace of hops, each the documents that it read and those of its evidence."""
    made = tuple(
        HopTrace(number, tuple(read), (), tuple((t, 0) for t in kept), None, False)
        for number, (read, kept) in enumerate(hops, 1)
    )
    return Trace(Prediction("1", ()), made, {}, stopped)


@pytest.mark.parametrize(
    ("hops", "stopped", "expected"),
    [
        ([("AX", "AX"), ("ABX", "AB")], "sufficient", Stage.FOUND),
        ([("AX", "AX"), ("ABX", "ABX")], "max_hops", Stage.FOUND),
        ([("AB", "AB"), ("AB", "AB")], "sufficient", Stage.LATE),
        ([("AB", "AB"), ("AX", "AX")], "max_hops", Stage.LATE),
        ([("XY", "X"), ("XZ", "Z")], "sufficient", Stage.FIRST),
        ([("ABX", "AX"), ("AX", "AX")], "sufficient", Stage.RERANKER),
        ([("AX", "AX"), ("ABX", "AX")], "max_hops", Stage.RERANKER),
        ([("AX", "X"), ("XY", "X")], "sufficient", Stage.RERANKER),  # A was read
        ([("AX", "A"), ("AY", "A")], "sufficient", Stage.EARLY),
        ([("AX", "A"), ("AY", "A")], "max_hops", Stage.HOP),
        ([("AX", "A"), ("AY", "A")], "dead_end", Stage.HOP),
        ([("XY", "X"), ("AY", "A")], "max_hops", Stage.HOP),  # found later: no first-stage miss
    ],
)
def test_the_first_stage_to_blame(
    hops: list[tuple[str, str]], stopped: str, expected: Stage
) -> None:
    assert stage_of(AB, trace(*hops, stopped=stopped)) is expected


def test_hops_that_had_to_be_made_are_not_late() -> None:
    made = trace(("AB", "AB"), ("AB", "AB"))
    assert stage_of(AB, made, min_hops=2) is Stage.FOUND
    assert stage_of(AB, made, dynamic=False) is Stage.FOUND
    lost = trace(("AB", "AB"), ("AB", "A"))
    assert stage_of(AB, lost, min_hops=2) is Stage.RERANKER
    assert stage_of(AB, trace(("AX", "A"), ("AY", "A")), dynamic=False) is Stage.HOP


def test_the_set_that_is_nearest_is_missed() -> None:
    sets = [frozenset("XY"), frozenset("AB")]
    assert stage_of(sets, trace(("AX", "A"), ("AB", "A"))) is Stage.RERANKER
    assert stage_of(sets, trace(("XY", "YX"))) is Stage.FOUND


def test_nothing_to_compare() -> None:
    assert stage_of([], trace(("A", "A"))) is Stage.NO_GOLD
    assert stage_of(AB, None) is Stage.NO_ANSWER
    assert stage_of(AB, trace()) is Stage.NO_ANSWER
    assert all(stage.meaning.endswith(".") for stage in Stage)
