"""Recognising out-of-memory errors, and returning freed memory to the system."""

from __future__ import annotations

import platform

import psutil
import pytest
import torch

from admiral.scheduling.memory import free_cached_memory, is_out_of_memory, trim_heap


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
    times: list[int] = []
    monkeypatch.setattr("admiral.scheduling.memory._malloc_trim", times.append)
    for _ in range(2):  # the second soon after the first
        before = len(times)
        system.retrieve("A bridge.", hops=1)
        assert len(times) > before
