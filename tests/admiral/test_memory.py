"""Which errors say that memory ran out."""

from __future__ import annotations

import pytest
import torch

from admiral.memory import ran_out, release


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
