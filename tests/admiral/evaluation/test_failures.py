"""Classification of claims by outcome."""

import pytest

from admiral.evaluation.predictions import Prediction
from admiral.evaluation.traces import HopTrace, Outcome, Trace, classify_outcome

AB = [frozenset("AB")]


def trace(*hops, stopped="sufficient"):
    """Return a trace from (documents read, documents of the evidence) for each hop."""
    made = tuple(
        HopTrace(number, tuple(read), (), tuple((t, 0) for t in kept), None, False)
        for number, (read, kept) in enumerate(hops, 1)
    )
    return Trace(Prediction("1", ()), made, {}, stopped)


@pytest.mark.parametrize(
    ("hops", "stopped", "expected"),
    [
        ([("AX", "AX"), ("ABX", "AB")], "sufficient", Outcome.FOUND),
        ([("AX", "AX"), ("ABX", "ABX")], "max_hops", Outcome.FOUND),
        ([("AB", "AB"), ("AB", "AB")], "sufficient", Outcome.LATE),
        ([("AB", "AB"), ("AX", "AX")], "max_hops", Outcome.LATE),
        ([("XY", "X"), ("XZ", "Z")], "sufficient", Outcome.FIRST),
        ([("ABX", "AX"), ("AX", "AX")], "sufficient", Outcome.RERANKER),
        ([("AX", "AX"), ("ABX", "AX")], "max_hops", Outcome.RERANKER),
        ([("AX", "X"), ("XY", "X")], "sufficient", Outcome.RERANKER),  # A was read
        ([("AX", "A"), ("AY", "A")], "sufficient", Outcome.EARLY),
        ([("AX", "A"), ("AY", "A")], "max_hops", Outcome.HOP),
        ([("AX", "A"), ("AY", "A")], "dead_end", Outcome.HOP),
        ([("XY", "X"), ("AY", "A")], "max_hops", Outcome.HOP),  # found later: no first-stage miss
    ],
)
def test_outcome_is_the_first_stage_that_lost_a_document(hops, stopped, expected):
    assert classify_outcome(AB, trace(*hops, stopped=stopped)) is expected


def test_required_hops_do_not_count_as_late():
    made = trace(("AB", "AB"), ("AB", "AB"))
    assert classify_outcome(AB, made, min_hops=2) is Outcome.FOUND
    assert classify_outcome(AB, made, dynamic=False) is Outcome.FOUND
    lost = trace(("AB", "AB"), ("AB", "A"))
    assert classify_outcome(AB, lost, min_hops=2) is Outcome.RERANKER
    assert classify_outcome(AB, trace(("AX", "A"), ("AY", "A")), dynamic=False) is Outcome.HOP


def test_alternative_sets_are_compared_with_the_nearest():
    sets = [frozenset("XY"), frozenset("AB")]
    assert classify_outcome(sets, trace(("AX", "A"), ("AB", "A"))) is Outcome.RERANKER
    assert classify_outcome(sets, trace(("XY", "YX"))) is Outcome.FOUND


def test_claims_without_gold_or_prediction():
    assert classify_outcome([], trace(("A", "A"))) is Outcome.NO_GOLD
    assert classify_outcome(AB, None) is Outcome.NO_ANSWER
    assert classify_outcome(AB, trace()) is Outcome.NO_ANSWER
    assert all(stage.meaning.endswith(".") for stage in Outcome)
