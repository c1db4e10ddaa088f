"""The number of torch threads is set for one thread and leaves the others unchanged."""

from __future__ import annotations

import logging
import platform
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.records import Claim, Stopped
from admiral.scheduling import (
    WINDOW_BATCHES,
    BatchScheduler,
    free_cached_memory,
    is_out_of_memory,
    set_torch_threads,
    trim_heap,
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


@pytest.fixture(scope="module", autouse=True)
def no_garbage_collection():
    """Skip the collection after lack of memory, which takes most of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("admiral.scheduling.free_cached_memory", lambda: None)
        yield


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


def limited_memory(step, max_claims, error):
    def limited(batch):
        if len(batch) > max_claims:
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
def test_batches_are_halved_when_memory_runs_out(error, workers, caplog):
    hops = [1 + n % 3 for n in range(20)]
    fake_hops = FakeHops(hops)
    with caplog.at_level(logging.WARNING):
        step = limited_memory(fake_hops, 2, error)
        scheduler = BatchScheduler(step, batch_size=7, workers=workers, threads=workers)
        states = list(scheduler.run(claims(20)))
    assert ids(states) == list(range(20))
    assert [state.hops for state in states] == hops
    assert max(map(len, fake_hops.batches)) <= 2
    assert "out of memory" in caplog.text
    assert len(caplog.records) <= 4  # the new size is kept


@pytest.mark.parametrize("capacity", [1, 2, 5])
@pytest.mark.parametrize("workers", [2, 4])
def test_workers_that_exceed_memory_together_run_one_after_the_other(workers, capacity):
    held = 0
    lock = threading.Lock()

    def step(batch):
        nonlocal held
        with lock:
            if held + len(batch) > capacity:
                raise MemoryError
            held += len(batch)
        time.sleep(0.002)  # so that the others ask for theirs meanwhile
        fake_hops(batch)
        with lock:
            held -= len(batch)

    hops = [1 + n % 3 for n in range(16)]
    fake_hops = FakeHops(hops)
    states = list(
        BatchScheduler(step, batch_size=8, workers=workers, threads=workers).run(claims(16))
    )
    assert ids(states) == list(range(16))
    assert [state.hops for state in states] == hops
    assert fake_hops.max_running <= capacity


def test_a_claim_that_fails_beside_another_is_tried_alone():
    failed = threading.Event()
    fake_hops = FakeHops([1, 1])

    def step(batch):
        (state,) = batch
        if state.claim.id == "0":
            assert failed.wait(timeout=10)
        elif not failed.is_set():
            failed.set()
            raise MemoryError
        fake_hops(batch)

    assert ids(BatchScheduler(step, batch_size=2, workers=2, threads=2).run(claims(2))) == [0, 1]
    assert fake_hops.batches == [[("0", 0)], [("1", 0)]]
    assert [name for name, _ in fake_hops.threads][1] == threading.current_thread().name


@pytest.mark.parametrize("workers", [1, 2])
def test_the_error_names_a_claim_that_does_not_fit_alone(workers):
    fake_hops = FakeHops([1] * 6)
    others = []

    def step(batch):
        if any(state.claim.id == "2" for state in batch):
            others.append(len(batch) - 1 + len(fake_hops.running))
            raise MemoryError
        fake_hops(batch)

    scheduler = BatchScheduler(step, batch_size=4, workers=workers, threads=workers)
    with pytest.raises(AdmiralError, match="claim '2': out of memory with this claim alone"):
        list(scheduler.run(claims(6)))
    assert others[-1] == 0


def test_other_runtime_errors_are_raised():
    step = limited_memory(FakeHops([1]), 0, RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(BatchScheduler(step, batch_size=4).run(claims(3)))


def allocator_error():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.int8)
    return caught.value


def test_errors_of_all_allocators_are_recognised():
    assert is_out_of_memory(allocator_error())
    assert is_out_of_memory(
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    )
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"))


def test_other_errors_are_not():
    assert not is_out_of_memory(
        RuntimeError("CUDA error: an illegal memory access was encountered")
    )
    assert not is_out_of_memory(ValueError("out of memory"))
    free_cached_memory()  # harmless without a GPU


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory")
def test_freed_memory_goes_back_to_the_system():
    trim_heap(min_interval=0)
    process = psutil.Process()
    blocks = [torch.ones(15_000) for _ in range(3000)]  # of 60 kB each, which glibc keeps
    freed = sum(block.nbytes for block in blocks[::2])
    blocks = blocks[1::2]  # the rest keep glibc from trimming by itself
    before = process.memory_info().rss
    trim_heap(min_interval=1e9)
    kept = before - process.memory_info().rss
    trim_heap(min_interval=0)
    assert before - process.memory_info().rss > 0.8 * freed
    assert kept < 0.2 * freed  # too early for another trim
    assert len(blocks) == 1500


def test_retrieval_trims_the_heap_after_the_last_result(system, monkeypatch):
    times = []
    monkeypatch.setattr("admiral.scheduling._malloc_trim", times.append)
    for _ in range(2):  # the second soon after the first
        before = len(times)
        system.retrieve("A bridge.", hops=1)
        assert len(times) > before
