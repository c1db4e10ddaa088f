"""The number of torch threads is set for one thread and leaves the others unchanged."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.records import Claim, Stopped
from admiral.scheduling import (
    WINDOW_BATCHES,
    BatchScheduler,
    set_torch_threads,
    using_torch_threads,
)


@pytest.fixture
def default(set_threads):
    set_threads(3)
    return 3


def test_a_thread_keeps_its_number(default):
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert second.submit(torch.get_num_threads).result() == default
        first.submit(set_torch_threads, 2).result()  # before that thread first uses torch
        assert first.submit(torch.get_num_threads).result() == 2
        assert second.submit(torch.get_num_threads).result() == default
        assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == default
        first.submit(set_torch_threads, 1).result()
        assert first.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == default


def test_the_block_restores_the_number_even_after_an_error(default):
    with using_torch_threads(5):
        assert torch.get_num_threads() == 5
        assert in_a_new_thread(torch.get_num_threads) == default
    assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == default
    with pytest.raises(KeyError), using_torch_threads(1):
        raise KeyError
    assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == default


@dataclass
class FakeState:
    """A claim that counts its hops."""

    claim: Claim
    hops: int = 0
    stopped: Stopped | None = None


class FakeHops:
    """A step that only counts: claim ``i`` stops after ``hops[i]`` hops."""

    def __init__(self, hops, seconds=0):
        self.hops, self.seconds = hops, seconds
        self.batches = []
        self.running = set()
        self.max_running = 0
        self.threads = []
        self._lock = threading.Lock()

    def __call__(self, batch):
        ids = [state.claim.id for state in batch]
        with self._lock:
            assert not self.running.intersection(ids)  # no claim is in two batches at a time
            self.running.update(ids)
            self.max_running = max(self.max_running, len(self.running))
            self.batches.append([(state.claim.id, state.hops) for state in batch])
            self.threads.append((threading.current_thread().name, torch.get_num_threads()))
        time.sleep(self.seconds)
        for state in batch:
            assert state.stopped is None
            state.hops += 1
            if state.hops == self.hops[int(state.claim.id)]:
                state.stopped = "sufficient"
        with self._lock:
            self.running.difference_update(ids)


def claims(count):
    return (FakeState(Claim(str(number), "A claim.")) for number in range(count))


def in_a_new_thread(call):
    with ThreadPoolExecutor(1) as new:
        return new.submit(call).result()


@pytest.fixture
def three_threads(set_threads):
    """Set a default that differs from the workers' numbers, whatever the environment sets."""
    set_threads(3)


def ids(states):
    return [int(state.claim.id) for state in states]


@given(
    hops=st.lists(st.integers(1, 5), max_size=30),
    batch_size=st.integers(1, 7),
    workers=st.integers(1, 4),
    threads=st.integers(1, 7),
)
def test_claims_are_yielded_in_order_after_all_their_hops(hops, batch_size, workers, threads):
    fake_hops = FakeHops(hops)
    scheduler = BatchScheduler(fake_hops, batch_size=batch_size, workers=workers, threads=threads)
    states = list(scheduler.run(claims(len(hops))))
    assert ids(states) == list(range(len(hops)))
    assert [state.hops for state in states] == hops
    assert fake_hops.max_running <= batch_size
    assert all(fake_hops.batches)


def test_a_claim_that_stops_makes_room_for_the_next():
    fake_hops = FakeHops([3, 1, 1, 2])
    list(BatchScheduler(fake_hops, batch_size=2).run(claims(4)))
    assert fake_hops.batches == [
        [("0", 0), ("1", 0)],
        [("0", 1), ("2", 0)],
        [("0", 2), ("3", 0)],
        [("3", 1)],
    ]


class ConcurrentHops(FakeHops):
    """Steps that wait until `shares` of them have started."""

    def __init__(self, hops, shares):
        super().__init__(hops)
        self._barrier = threading.Barrier(shares)

    def __call__(self, batch):
        self._barrier.wait(timeout=10)
        super().__call__(batch)


@pytest.mark.parametrize(
    ("threads", "batch_size", "count", "sizes", "threads_each"),
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
    three_threads, threads, batch_size, count, sizes, threads_each
):
    fake_hops = ConcurrentHops([1] * count, len(sizes))
    list(
        BatchScheduler(fake_hops, batch_size=batch_size, workers=4, threads=threads).run(
            claims(count)
        )
    )
    assert Counter(map(len, fake_hops.batches)) == Counter(sizes)
    assert Counter(count for _, count in fake_hops.threads) == Counter(threads_each)
    assert all(name.startswith("admiral-hops") for name, _ in fake_hops.threads)


def test_other_threads_keep_their_number_of_torch_threads(three_threads):
    fake_hops = FakeHops([2] * 40, seconds=0.002)
    scheduler = BatchScheduler(fake_hops, batch_size=4, workers=2, threads=2).run(claims(40))
    assert ids([next(scheduler)]) == [0]
    assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == 3
    assert len(list(scheduler)) == 39
    assert 1 in {count for _, count in fake_hops.threads}
    assert torch.get_num_threads() == in_a_new_thread(torch.get_num_threads) == 3


def test_a_single_claim_uses_all_threads_in_the_thread_of_the_caller(three_threads):
    fake_hops = FakeHops([2])
    assert ids(BatchScheduler(fake_hops, batch_size=8, workers=2, threads=5).run(claims(1))) == [0]
    assert fake_hops.threads == [(threading.current_thread().name, 5)] * 2
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_the_stream_comes_after_the_claims_before_it(workers):
    def stream():
        yield from claims(6)
        raise ValueError("line 7 is bad")

    states = []
    scheduler = BatchScheduler(
        FakeHops([1, 3, 2, 1, 1, 2]), batch_size=4, workers=workers, threads=workers
    )
    with pytest.raises(ValueError, match="line 7"):
        states.extend(scheduler.run(stream()))
    assert ids(states) == list(range(6))


@pytest.mark.parametrize("workers", [1, 2])
def test_claims_in_flight_do_not_wait_for_a_slow_stream(workers):
    read = 0

    def stream():
        nonlocal read
        for state in claims(8):
            read += 1
            yield state

    scheduler = BatchScheduler(
        FakeHops([2, 3, 1, 1] * 2), batch_size=8, workers=workers, threads=workers
    )
    states = scheduler.run(stream(), ready=lambda: read % 4 != 0)
    for number in range(8):
        assert ids([next(states)]) == [number]
        assert read == (4 if number < 4 else 8)
    assert list(states) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_slow_claim_bounds_how_far_the_stream_is_read(workers):
    read = 0

    def stream():
        nonlocal read
        for state in claims(500):
            read += 1
            yield state

    fake_hops = FakeHops([100] + [1] * 499)
    scheduler = BatchScheduler(fake_hops, batch_size=4, workers=workers, threads=workers).run(
        stream()
    )
    assert ids([next(scheduler)]) == [0]
    assert read <= 4 * WINDOW_BATCHES + 2
    assert ids(scheduler) == list(range(1, 500))


def test_an_error_of_the_step_is_raised_and_leaves_no_thread():
    def step(batch):
        raise AdmiralError("a file is damaged")

    for workers in (1, 2):
        with pytest.raises(AdmiralError, match="damaged"):
            list(
                BatchScheduler(step, batch_size=4, workers=workers, threads=workers).run(claims(9))
            )
    assert not [t for t in threading.enumerate() if t.name.startswith("admiral-hops")]
