"""Claims in batches: who travels with whom, in which order they come out, and what may fail."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral import AdmiralError, Claim
from admiral.records import Hop
from admiral.retrieval.state import Progress
from admiral.scheduling.batch_scheduler import Flow
from admiral.scheduling.in_flight import AHEAD

Step = Callable[[Sequence[Progress]], None]


class Hopper:
    """Hops that only count: claim ``i`` stops after ``hops[i]`` of them."""

    def __init__(self, hops: Sequence[int], seconds: float = 0) -> None:
        self.hops, self.seconds = hops, seconds
        self.batches: list[list[tuple[str, int]]] = []
        self.under_way: set[str] = set()
        self.most = 0
        self.threads: list[tuple[str, int]] = []
        self._lock = threading.Lock()

    def __call__(self, batch: Sequence[Progress]) -> None:
        ids = [p.claim.id for p in batch]
        with self._lock:
            assert not self.under_way.intersection(ids)  # nobody travels twice at a time
            self.under_way.update(ids)
            self.most = max(self.most, len(self.under_way))
            self.batches.append([(p.claim.id, len(p.hops)) for p in batch])
            self.threads.append((threading.current_thread().name, torch.get_num_threads()))
        time.sleep(self.seconds)
        for one in batch:
            assert one.stopped is None
            one.hops.append(Hop(len(one.hops) + 1, (), (), None, False, 0.0))
            if len(one.hops) == self.hops[int(one.claim.id)]:
                one.stopped = "sufficient"
        with self._lock:
            self.under_way.difference_update(ids)


def claims(count: int) -> Iterator[Progress]:
    return (Progress(Claim(str(number), "A claim.")) for number in range(count))


def in_a_new_thread(call: Callable[[], int]) -> int:
    with ThreadPoolExecutor(1) as new:
        return new.submit(call).result()


@pytest.fixture
def three_threads(set_threads: Callable[[int], None]) -> None:
    """Another default than the workers', whatever the environment says."""
    set_threads(3)


def ids(found: Iterable[Progress]) -> list[int]:
    return [int(one.claim.id) for one in found]


@settings(deadline=None, max_examples=60)
@given(
    hops=st.lists(st.integers(1, 5), max_size=30),
    batch_size=st.integers(1, 7),
    workers=st.integers(1, 4),
    threads=st.integers(1, 7),
)
def test_all_come_out_in_order_with_their_hops(
    hops: list[int], batch_size: int, workers: int, threads: int
) -> None:
    hopper = Hopper(hops)
    flow = Flow(hopper, batch_size=batch_size, workers=workers, threads=threads)
    found = list(flow.run(claims(len(hops))))
    assert ids(found) == list(range(len(hops)))
    assert [len(one.hops) for one in found] == hops
    assert hopper.most <= batch_size
    assert all(hopper.batches)


def test_one_that_stops_leaves_its_place_to_the_next() -> None:
    hopper = Hopper([3, 1, 1, 2])
    list(Flow(hopper, batch_size=2).run(claims(4)))
    assert hopper.batches == [
        [("0", 0), ("1", 0)],
        [("0", 1), ("2", 0)],
        [("0", 2), ("3", 0)],
        [("3", 1)],
    ]


class Together(Hopper):
    """Hops of which so many begin before one of them ends."""

    def __init__(self, hops: Sequence[int], parts: int) -> None:
        super().__init__(hops)
        self._barrier = threading.Barrier(parts)

    def __call__(self, batch: Sequence[Progress]) -> None:
        self._barrier.wait(timeout=10)
        super().__call__(batch)


@pytest.mark.parametrize(
    ("threads", "batch_size", "count", "parts", "shares"),
    [
        (2, 4, 4, [2, 2], [1, 1]),
        (3, 8, 8, [3, 3, 2], [1, 1, 1]),
        (5, 8, 8, [2, 2, 2, 2], [2, 1, 1, 1]),
        (7, 8, 8, [2, 2, 2, 2], [2, 2, 2, 1]),
        (9, 9, 9, [3, 2, 2, 2], [3, 2, 2, 2]),
        (8, 2, 2, [1, 1], [4, 4]),
        (8, 8, 2, [1, 1], [4, 4]),
        (4, 5, 5, [2, 1, 1, 1], [1, 1, 1, 1]),
    ],
)
def test_workers_share_the_batch_and_all_threads(
    three_threads: None,
    threads: int,
    batch_size: int,
    count: int,
    parts: list[int],
    shares: list[int],
) -> None:
    hopper = Together([1] * count, len(parts))
    list(Flow(hopper, batch_size=batch_size, workers=4, threads=threads).run(claims(count)))
    assert Counter(map(len, hopper.batches)) == Counter(parts)
    assert Counter(taken for _, taken in hopper.threads) == Counter(shares)
    assert all(name.startswith("admiral-hops") for name, _ in hopper.threads)


@pytest.mark.parametrize("batch_size", [5, 7, 9])
def test_no_more_than_a_batch_is_under_way(batch_size: int) -> None:
    hopper = Hopper([1, 2] * 20, seconds=0.002)
    list(Flow(hopper, batch_size=batch_size, workers=4, threads=4).run(claims(40)))
    assert hopper.most <= batch_size


def test_no_other_thread_notices_the_threads_of_the_workers(three_threads: None) -> None:
    hopper = Hopper([2] * 40, seconds=0.002)
    flow = Flow(hopper, batch_size=4, workers=2, threads=2).run(claims(40))
    assert ids([next(flow)]) == [0]
    assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == 3
    assert len(list(flow)) == 39
    assert 1 in {taken for _, taken in hopper.threads}
    assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == 3


def test_a_single_claim_has_all_threads_in_the_thread_of_the_caller(three_threads: None) -> None:
    hopper = Hopper([2])
    assert ids(Flow(hopper, batch_size=8, workers=2, threads=5).run(claims(1))) == [0]
    assert hopper.threads == [(threading.current_thread().name, 5)] * 2
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("workers", [1, 3])
def test_what_the_stream_raises_comes_behind_the_claims_before(workers: int) -> None:
    def stream() -> Iterator[Progress]:
        yield from claims(6)
        raise ValueError("line 7 is bad")

    found = []
    flow = Flow(Hopper([1, 3, 2, 1, 1, 2]), batch_size=4, workers=workers, threads=workers)
    with pytest.raises(ValueError, match="line 7"):
        for one in flow.run(stream()):
            found.append(one)
    assert ids(found) == list(range(6))


@pytest.mark.parametrize("workers", [1, 2])
def test_claims_that_are_there_do_not_wait_for_those_to_come(workers: int) -> None:
    read = 0

    def stream() -> Iterator[Progress]:
        nonlocal read
        for one in claims(8):
            read += 1
            yield one

    flow = Flow(Hopper([2, 3, 1, 1] * 2), batch_size=8, workers=workers, threads=workers)
    found = flow.run(stream(), ready=lambda: read % 4 != 0)
    for number in range(8):
        assert ids([next(found)]) == [number]
        assert read == (4 if number < 4 else 8)
    assert list(found) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_slow_claim_does_not_let_the_stream_run_ahead(workers: int) -> None:
    read = 0

    def stream() -> Iterator[Progress]:
        nonlocal read
        for one in claims(500):
            read += 1
            yield one

    hopper = Hopper([100] + [1] * 499)
    flow = Flow(hopper, batch_size=4, workers=workers, threads=workers).run(stream())
    assert ids([next(flow)]) == [0]
    assert read <= 4 * AHEAD + 2
    assert ids(flow) == list(range(1, 500))


def test_an_error_ends_it_and_nothing_goes_on() -> None:
    def step(batch: Sequence[Progress]) -> None:
        raise AdmiralError("a file is damaged")

    for workers in (1, 2):
        with pytest.raises(AdmiralError, match="damaged"):
            list(Flow(step, batch_size=4, workers=workers, threads=workers).run(claims(9)))
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
        step = short_of_memory(hopper, 2, error)
        flow = Flow(step, batch_size=7, workers=workers, threads=workers)
        found = list(flow.run(claims(20)))
    assert ids(found) == list(range(20))
    assert [len(one.hops) for one in found] == hops
    assert max(map(len, hopper.batches)) <= 2
    assert "memory ran out" in caplog.text
    assert len(caplog.records) <= 4  # the new size is kept


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("workers", [2, 4])
def test_memory_that_workers_share_is_enough_for_one_after_the_other(
    workers: int, most: int
) -> None:
    held = 0
    lock = threading.Lock()

    def step(batch: Sequence[Progress]) -> None:
        nonlocal held
        with lock:
            if held + len(batch) > most:
                raise MemoryError
            held += len(batch)
        time.sleep(0.002)  # so that the others want theirs meanwhile
        hopper(batch)
        with lock:
            held -= len(batch)

    hops = [1 + n % 3 for n in range(16)]
    hopper = Hopper(hops)
    found = list(Flow(step, batch_size=8, workers=workers, threads=workers).run(claims(16)))
    assert ids(found) == list(range(16))
    assert [len(one.hops) for one in found] == hops
    assert hopper.most <= most


def test_a_claim_without_memory_beside_another_is_tried_alone() -> None:
    failed = threading.Event()
    hopper = Hopper([1, 1])

    def step(batch: Sequence[Progress]) -> None:
        (one,) = batch
        if one.claim.id == "0":
            assert failed.wait(timeout=10)
        elif not failed.is_set():
            failed.set()
            raise MemoryError
        hopper(batch)

    assert ids(Flow(step, batch_size=2, workers=2, threads=2).run(claims(2))) == [0, 1]
    assert hopper.batches == [[("0", 0)], [("1", 0)]]
    assert [name for name, _ in hopper.threads][1] == threading.current_thread().name


@pytest.mark.parametrize("workers", [1, 2])
def test_a_claim_that_does_not_fit_alone_is_named(workers: int) -> None:
    hopper = Hopper([1] * 6)
    beside = []

    def step(batch: Sequence[Progress]) -> None:
        if any(one.claim.id == "2" for one in batch):
            beside.append(len(batch) - 1 + len(hopper.under_way))
            raise MemoryError
        hopper(batch)

    flow = Flow(step, batch_size=4, workers=workers, threads=workers)
    with pytest.raises(AdmiralError, match="claim '2': memory ran out with this claim alone"):
        list(flow.run(claims(6)))
    assert beside[-1] == 0


def test_other_errors_of_the_runtime_are_raised() -> None:
    step = short_of_memory(Hopper([1]), 0, RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(Flow(step, batch_size=4).run(claims(3)))
