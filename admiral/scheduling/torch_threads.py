"""Set the number of torch's intra-op threads for one thread only.

`torch.set_num_threads` applies to the calling thread, and also becomes the default of every thread
that uses torch for the first time afterwards. The functions here restore that default at once; only
a thread that first uses torch within that moment would still take the new number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

_lock = threading.Lock()


def set_torch_threads(count: int) -> None:
    """Use `count` torch threads for what the calling thread computes from now on."""
    # Always ask first: a thread that has never asked would take over a later default.
    if torch.get_num_threads() == count:
        return
    with _lock, ThreadPoolExecutor(1, "admiral-default") as new_thread:
        default = new_thread.submit(torch.get_num_threads).result()
        torch.set_num_threads(count)
        new_thread.submit(torch.set_num_threads, default).result()


@contextmanager
def using_torch_threads(count: int) -> Iterator[None]:
    """Use `count` torch threads in the calling thread until the end of the block."""
    previous = torch.get_num_threads()
    set_torch_threads(count)
    try:
        yield
    finally:
        set_torch_threads(previous)
