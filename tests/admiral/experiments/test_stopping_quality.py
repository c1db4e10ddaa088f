"""What the judge said, counted by hand."""

from __future__ import annotations

from admiral.evaluation.predictions import Prediction
from admiral.evaluation.traces import HopTrace, Trace
from admiral.experiments.stopping_quality import stopping
from tests.admiral.evaluation.cases import gold


def trace(id: str, *hops: tuple[str, bool], stopped: str = "sufficient") -> Trace:
    made = tuple(
        HopTrace(number, (), (), tuple((t, 0) for t in titles), None, said)
        for number, (titles, said) in enumerate(hops, 1)
    )
    return Trace(Prediction(id, ()), made, {}, stopped)


def test_decisions_are_counted() -> None:
    claims = [
        gold([("A", 0), ("B", 1)], id="1"),
        gold([("A", 0)], [("C", 0)], id="2"),  # one of the two is enough
        gold(id="3"),
        gold([("A", 0)], id="4"),
    ]
    traces = {
        "1": trace("1", ("AX", False), ("AB", True)),
        "2": trace("2", ("C", False), ("X", False), stopped="max_hops"),
        "3": trace("3", ("A", True)),  # nothing is known of it
    }
    found = stopping(claims, traces)
    assert found["hops"] == 2 and found["stopped"] == {"max_hops": 1, "sufficient": 1}
    assert found["decisions"] == [
        {
            "hop": 1, "sufficient": 0, "sufficient_complete": 0,
            "insufficient": 2, "insufficient_complete": 1,
        },
        {
            "hop": 2, "sufficient": 1, "sufficient_complete": 1,
            "insufficient": 1, "insufficient_complete": 0,
        },
    ]  # fmt: skip
    assert found["precision"] == 2 / 3 and found["recall"] == 1


def test_nothing_to_count() -> None:
    found = stopping([gold([("A", 0)], id="9")], {})
    assert found == {
        "hops": None, "stopped": {}, "precision": None, "recall": None, "decisions": []
    }  # fmt: skip
