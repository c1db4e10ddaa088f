"""The number of torch's threads: set for one thread, unseen by the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from admiral.scheduling.torch_threads import take_threads, taking_threads


@pytest.fixture
def default(set_threads: Callable[[int], None]) -> int:
    set_threads(3)
    return 3


def in_a_new_thread() -> int:
    with ThreadPoolExecutor(1) as new:
        return new.submit(torch.get_num_threads).result()


def test_a_thread_of_its_own_keeps_what_it_takes(default: int) -> None:
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        assert other.submit(torch.get_num_threads).result() == default
        one.submit(take_threads, 2).result()  # before it ever used torch
        assert one.submit(torch.get_num_threads).result() == 2
        assert other.submit(torch.get_num_threads).result() == default
        assert torch.get_num_threads() == in_a_new_thread() == default
        one.submit(take_threads, 1).result()
        assert one.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == in_a_new_thread() == default


def test_a_block_gives_back_what_it_took_even_after_an_error(default: int) -> None:
    with taking_threads(5):
        assert torch.get_num_threads() == 5
        assert in_a_new_thread() == default
    assert torch.get_num_threads() == in_a_new_thread() == default
    with pytest.raises(KeyError), taking_threads(1):
        raise KeyError
    assert torch.get_num_threads() == in_a_new_thread() == default
