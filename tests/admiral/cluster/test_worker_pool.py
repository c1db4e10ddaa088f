"""Workers whose time is over, with a stand-in for Ray that decides when what is ready."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from admiral.cluster import worker_pool as module
from admiral.cluster.chunks import Lot
from admiral.cluster.worker_pool import Crew
from admiral.records import Claim


@dataclass
class Ray:
    """Futures are numbers; `answers` says what those that are ready give."""

    now: float = 0.0
    made: int = 0
    answers: dict[int, str] = field(default_factory=dict)
    killed: list[Any] = field(default_factory=list)

    def future(self) -> int:
        self.made += 1
        return self.made

    def wait(self, futures: Sequence[int], num_returns: int, timeout: float) -> Any:
        ready = [one for one in futures if one in self.answers][:num_returns]
        if not ready:
            self.now += timeout
        return ready, [one for one in futures if one not in ready]

    def get(self, future: int) -> str:
        return self.answers.pop(future)

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


class Actor:
    def __init__(self, ray: Ray) -> None:
        self.answer, self.remote = self, lambda claims: ray.future()


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    ray = Ray()
    monkeypatch.setattr(module.time, "monotonic", lambda: ray.now)
    return ray


def crew_of(ray: Ray, count: int, claim_seconds: float) -> Crew:
    """A crew that has opened the pipeline."""

    def start() -> tuple[Actor, int]:
        return Actor(ray), ray.future()

    crew = Crew(ray, start, count, claim_seconds)
    ray.answers |= dict.fromkeys(range(1, count + 1), "")
    for _ in range(count):
        assert not list(crew.wait())
    return crew


def lot(first: int, count: int = 1) -> Lot:
    return Lot(first, tuple(Claim(f"c{n}", "A claim.") for n in range(first, first + count)))


def test_a_lot_that_hangs_is_told_and_its_worker_replaced(ray: Ray) -> None:
    crew = crew_of(ray, 1, claim_seconds=10)
    crew.give(lot(0, 3))
    (outcome,) = crew.wait()
    assert (ray.now, len(ray.killed)) == (30, 1)
    assert (outcome.error, outcome.hung, len(outcome.lot.claims)) == ("no answer in 30 s", True, 3)
    assert not crew.idle
    ray.answers[3] = ""  # the replacement is there
    assert not list(crew.wait()) and crew.idle


def test_a_replacement_has_the_whole_time_to_start(ray: Ray) -> None:
    """However long its predecessor hung."""
    crew = crew_of(ray, 1, claim_seconds=10 * module._START_SECONDS)
    crew.give(lot(0))
    while not [found for found in crew.wait() if found.hung]:
        pass
    assert not list(crew.wait())  # it is waited for, without complaint
    while ray.now < 11 * module._START_SECONDS - module._LOOK_SECONDS:
        assert not list(crew.wait())
    with pytest.raises(module.AdmiralError, match="no worker has started for 30 minutes"):
        for _ in range(3):
            list(crew.wait())


def test_answers_that_nobody_looked_at_count(ray: Ray) -> None:
    """The one who reads results may have been away for long."""
    crew = crew_of(ray, 3, claim_seconds=10)
    for number in range(3):
        crew.give(lot(number))
    ray.now += 1000
    records = [{"id": f"c{n}"} for n in range(3)]
    ray.answers |= {4 + n: json.dumps({"records": [records[n]]}) for n in (0, 2)}
    found = {outcome.lot.first: outcome for outcome in crew.wait()}
    assert [found[n].records for n in range(3)] == [[records[0]], [], [records[2]]]
    assert [found[n].hung for n in range(3)] == [False, True, False]
    assert len(ray.killed) == 1
