"""Timeouts and replacements of workers, with a fake Ray and a fake clock."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from admiral.cluster import distributed_retrieval as module
from admiral.cluster.distributed_retrieval import Chunk, WorkerPool
from admiral.records import Claim


@dataclass
class FakeRay:
    """Futures are numbers; `answers` holds the values of those that are ready."""

    now: float = 0.0
    made: int = 0
    answers: dict[int, str] = field(default_factory=dict)
    killed: list[Any] = field(default_factory=list)

    def future(self):
        self.made += 1
        return self.made

    def wait(self, futures, num_returns, timeout):
        ready = [future for future in futures if future in self.answers][:num_returns]
        if not ready:
            self.now += timeout
        return ready, [future for future in futures if future not in ready]

    def get(self, future):
        return self.answers.pop(future)

    def kill(self, actor):
        self.killed.append(actor)


class FakeActor:
    def __init__(self, ray):
        self.retrieve, self.remote = self, lambda claims: ray.future()


@pytest.fixture
def ray(monkeypatch):
    ray = FakeRay()
    monkeypatch.setattr(module.time, "monotonic", lambda: ray.now)
    return ray


def open_pool(ray, count, claim_seconds):

    def start():
        return FakeActor(ray), ray.future()

    pool = WorkerPool(ray, start, count, claim_seconds)
    ray.answers |= dict.fromkeys(range(1, count + 1), "")
    for _ in range(count):
        assert not list(pool.wait())
    return pool


def chunk(first, count=1):
    return Chunk(first, tuple(Claim(f"c{n}", "A claim.") for n in range(first, first + count)))


def test_a_chunk_that_times_out_fails_and_its_worker_is_replaced(ray):
    pool = open_pool(ray, 1, claim_seconds=10)
    pool.submit(chunk(0, 3))
    (result,) = pool.wait()
    assert (ray.now, len(ray.killed)) == (30, 1)
    assert (result.error, result.timed_out, len(result.chunk.claims)) == (
        "no answer in 30 s",
        True,
        3,
    )
    assert not pool.idle
    ray.answers[3] = ""  # the replacement has started
    assert not list(pool.wait())
    assert pool.idle


def test_a_replacement_gets_the_whole_time_to_start(ray):
    """The time that its predecessor took does not count."""
    pool = open_pool(ray, 1, claim_seconds=10 * module._START_SECONDS)
    pool.submit(chunk(0))
    while not [result for result in pool.wait() if result.timed_out]:
        pass
    assert not list(pool.wait())  # no error while the replacement starts
    while ray.now < 11 * module._START_SECONDS - module._POLL_SECONDS:
        assert not list(pool.wait())
    assert not list(pool.wait())
    with pytest.raises(module.AdmiralError, match="no worker has started for 30 minutes"):
        list(pool.wait())


def test_results_completed_before_the_deadline_count_when_polled_late(ray):
    """The caller may not have polled for long."""
    pool = open_pool(ray, 3, claim_seconds=10)
    for number in range(3):
        pool.submit(chunk(number))
    ray.now += 1000
    records = [{"id": f"c{n}"} for n in range(3)]
    ray.answers |= {4 + n: json.dumps({"records": [records[n]]}) for n in (0, 2)}
    results = {result.chunk.first: result for result in pool.wait()}
    assert [results[n].records for n in range(3)] == [[records[0]], [], [records[2]]]
    assert [results[n].timed_out for n in range(3)] == [False, True, False]
    assert len(ray.killed) == 1
