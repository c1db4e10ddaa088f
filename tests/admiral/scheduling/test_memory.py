"""Which errors say that memory ran out, and where freed memory goes."""

from __future__ import annotations

import platform

import psutil
import pytest
import torch

from admiral import Admiral
from admiral.scheduling.memory import ran_out, release, trim


def error_of_the_allocator() -> BaseException:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.int8)
    return caught.value


def test_errors_of_all_allocators_count() -> None:
    assert ran_out(error_of_the_allocator())
    assert ran_out(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))
    assert ran_out(MemoryError())
    assert ran_out(RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"))


def test_other_errors_do_not() -> None:
    assert not ran_out(RuntimeError("CUDA error: an illegal memory access was encountered"))
    assert not ran_out(ValueError("out of memory"))
    release()  # wherever it runs, it does no harm


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory")
def test_freed_memory_goes_back_to_the_system() -> None:
    trim(pause=0)
    process = psutil.Process()
    blocks = [torch.ones(15_000) for _ in range(3000)]  # 60 kB each, which glibc keeps
    freed = sum(block.nbytes for block in blocks[::2])
    blocks = blocks[1::2]  # what is left stands in the way of what glibc does by itself
    before = process.memory_info().rss
    trim(pause=1e9)
    kept = before - process.memory_info().rss
    trim(pause=0)
    assert before - process.memory_info().rss > 0.8 * freed
    assert kept < 0.2 * freed  # it was not time yet
    assert len(blocks) == 1500


def test_it_goes_back_when_the_last_answer_is_there(
    system: Admiral, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[int] = []
    monkeypatch.setattr("admiral.scheduling.memory._malloc_trim", times.append)
    for _ in range(2):  # one soon after the other
        before = len(times)
        system.retrieve("A bridge.", hops=1)
        assert len(times) > before
