"""The number of torch threads is set for one thread and leaves the others unchanged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from admiral.scheduling.torch_threads import set_torch_threads, using_torch_threads


@pytest.fixture
def default(set_threads: Callable[[int], None]) -> int:
    set_threads(3)
    return 3


def in_a_new_thread() -> int:
    with ThreadPoolExecutor(1) as new:
        return new.submit(torch.get_num_threads).result()


def test_a_thread_keeps_its_number(default: int) -> None:
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert second.submit(torch.get_num_threads).result() == default
        first.submit(set_torch_threads, 2).result()  # before that thread first uses torch
        assert first.submit(torch.get_num_threads).result() == 2
        assert second.submit(torch.get_num_threads).result() == default
        assert torch.get_num_threads() == in_a_new_thread() == default
        first.submit(set_torch_threads, 1).result()
        assert first.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == in_a_new_thread() == default


def test_the_block_restores_the_number_even_after_an_error(default: int) -> None:
    with using_torch_threads(5):
        assert torch.get_num_threads() == 5
        assert in_a_new_thread() == default
    assert torch.get_num_threads() == in_a_new_thread() == default
    with pytest.raises(KeyError), using_torch_threads(1):
        raise KeyError
    assert torch.get_num_threads() == in_a_new_thread() == default
