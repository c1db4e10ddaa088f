"""What `benchmarks.throughput` counts and compares."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from admiral import Claim, RetrievalResult
from admiral.records import RankedDocument, Sentence
from benchmarks.throughput import Clock, Way, differences, largest_gap, report

RESULT = RetrievalResult(
    Claim("1", "A claim."),
    (RankedDocument("A", 0.5, 1), RankedDocument("B", 0.25, 0)),
    (Sentence("A", 0, "x", 2.0), Sentence("A", 1, "y", 1.0)),
    (),
    "dead_end",
)


def test_time_in_nested_methods_counts_once() -> None:
    class Inner:
        def work(self) -> int:
            time.sleep(0.02)
            return 7

    class Outer:
        def work(self) -> int:
            time.sleep(0.01)
            return Inner().work() + Inner().work()

    clock = Clock()
    clock.watch(Inner, "work", "inner")
    clock.watch(Outer, "work", "outer")
    began = time.perf_counter()
    assert Outer().work() == 14
    spent = time.perf_counter() - began
    assert clock.seconds["inner"] >= 0.04
    assert clock.seconds["outer"] >= 0.01
    assert clock.seconds["inner"] + clock.seconds["outer"] <= spent


def test_answers_are_compared_without_scores() -> None:
    first, second = RESULT.documents
    assert differences(RESULT, RESULT) == []
    other = replace(RESULT, documents=(second, replace(first, score=0.1)), stopped="max_hops")
    assert differences(RESULT, other) == ["documents", "stop"]
    assert largest_gap(RESULT, other) == pytest.approx(0.4)
    assert differences(RESULT, replace(RESULT, evidence=RESULT.evidence[:1])) == ["evidence"]


def test_every_way_is_compared_with_the_first() -> None:
    other = replace(RESULT, stopped="max_hops")
    results = {"a": RESULT, "b": RESULT, "c": other}
    ways = [Way(name, lambda _, r=r: [r]) for name, r in results.items()]
    for seconds, way in enumerate(ways, 1):
        way.run([RESULT.claim], Clock())
        way.seconds = way.processor = float(seconds)
    text = "\n".join(report(ways))
    assert "| c | 0.333 | 3.000 | 3.000 | 0.000 |" in text
    assert "b: 0.50 times as fast, 0.50 in processor time\nthe same answer: 1 of 1" in text
    assert "c: 0.33 times as fast, 0.33 in processor time\nthe same answer: 0 of 1" in text
    assert text.endswith("other stop: 1")
