"""Claims in batches: who travels with whom, in which order they come out, and what may fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral import AdmiralError, Claim
from admiral.flow import _AHEAD, Flow
from admiral.progress import Progress
from admiral.records import Hop

Step = Callable[[Sequence[Progress]], None]


class Hopper:
    """Hops that only count: claim ``i`` stops after ``hops[i]`` of them."""

    def __init__(self, hops: Sequence[int]) -> None:
        self.hops = hops
        self.batches: list[list[tuple[str, int]]] = []
        self.under_way: set[str] = set()
        self.threads: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def __call__(self, batch: Sequence[Progress]) -> None:
        ids = [p.claim.id for p in batch]
        with self._lock:
            assert not self.under_way.intersection(ids)  # nobody travels twice at a time
            self.under_way.update(ids)
            self.batches.append([(p.claim.id, len(p.hops)) for p in batch])
            self.threads.add((threading.current_thread().name, torch.get_num_threads()))
        for one in batch:
            assert one.stopped is None
            one.hops.append(Hop(len(one.hops) + 1, (), (), None, False, 0.0))
            if len(one.hops) == self.hops[int(one.claim.id)]:
                one.stopped = "sufficient"
        with self._lock:
            self.under_way.difference_update(ids)


def claims(count: int) -> Iterator[Progress]:
    return (Progress(Claim(str(number), "A claim.")) for number in range(count))


def ids(found: Iterable[Progress]) -> list[int]:
    return [int(one.claim.id) for one in found]


@settings(deadline=None, max_examples=60)
@given(
    hops=st.lists(st.integers(1, 5), max_size=30),
    batch_size=st.integers(1, 7),
    workers=st.integers(1, 3),
)
def test_all_come_out_in_order_with_their_hops(
    hops: list[int], batch_size: int, workers: int
) -> None:
    hopper = Hopper(hops)
    found = list(Flow(hopper, batch_size=batch_size, workers=workers).run(claims(len(hops))))
    assert ids(found) == list(range(len(hops)))
    assert [len(one.hops) for one in found] == hops
    assert all(0 < len(batch) <= batch_size for batch in hopper.batches)


def test_one_that_stops_leaves_its_place_to_the_next() -> None:
    hopper = Hopper([3, 1, 1, 2])
    list(Flow(hopper, batch_size=2).run(claims(4)))
    assert hopper.batches == [
        [("0", 0), ("1", 0)],
        [("0", 1), ("2", 0)],
        [("0", 2), ("3", 0)],
        [("3", 1)],
    ]


def test_a_batch_is_shared_between_the_workers() -> None:
    hopper = Hopper([2] * 8)
    before = torch.get_num_threads()
    list(Flow(hopper, batch_size=4, workers=2, threads=1).run(claims(8)))
    assert [len(batch) for batch in hopper.batches[:2]] == [2, 2]
    assert max(map(len, hopper.batches)) == 2
    assert {count for _, count in hopper.threads} == {1}
    assert all(name.startswith("admiral-hops") for name, _ in hopper.threads)
    assert torch.get_num_threads() == before


def test_a_single_claim_has_all_threads() -> None:
    hopper = Hopper([2])
    assert ids(Flow(hopper, batch_size=8, workers=2).run(claims(1))) == [0]
    assert hopper.threads == {(threading.current_thread().name, torch.get_num_threads())}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_slow_claim_does_not_let_the_stream_run_ahead(workers: int) -> None:
    read = 0

    def stream() -> Iterator[Progress]:
        nonlocal read
        for one in claims(500):
            read += 1
            yield one

    hopper = Hopper([100] + [1] * 499)
    flow = Flow(hopper, batch_size=4, workers=workers).run(stream())
    assert ids([next(flow)]) == [0]
    assert read <= 4 * _AHEAD + 2
    assert ids(flow) == list(range(1, 500))


def test_an_error_ends_it_and_nothing_goes_on() -> None:
    def step(batch: Sequence[Progress]) -> None:
        raise AdmiralError("a file is damaged")

    for workers in (1, 2):
        with pytest.raises(AdmiralError, match="damaged"):
            list(Flow(step, batch_size=4, workers=workers).run(claims(9)))
    assert not [t for t in threading.enumerate() if t.name.startswith("admiral-hops")]


def short_of_memory(step: Step, most: int, error: Exception) -> Step:
    def limited(batch: Sequence[Progress]) -> None:
        if len(batch) > most:
            raise error
        step(batch)

    return limited


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"),
        MemoryError(),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_without_memory_batches_are_halved(
    error: Exception, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    hops = [1 + n % 3 for n in range(20)]
    hopper = Hopper(hops)
    with caplog.at_level(logging.WARNING):
        flow = Flow(short_of_memory(hopper, 2, error), batch_size=7, workers=workers)
        found = list(flow.run(claims(20)))
    assert ids(found) == list(range(20))
    assert [len(one.hops) for one in found] == hops
    assert max(map(len, hopper.batches)) <= 2
    assert "memory ran out" in caplog.text
    assert len(caplog.records) <= 4  # the new size is kept


def test_a_claim_that_does_not_fit_alone_is_named() -> None:
    step = short_of_memory(Hopper([1]), 0, MemoryError())
    with pytest.raises(AdmiralError, match="claim '0': memory ran out with this claim alone"):
        list(Flow(step, batch_size=4).run(claims(3)))


def test_other_errors_of_the_runtime_are_raised() -> None:
    step = short_of_memory(Hopper([1]), 0, RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(Flow(step, batch_size=4).run(claims(3)))
