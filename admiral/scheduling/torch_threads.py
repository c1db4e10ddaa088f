"""How many threads torch takes for what one thread computes, without a trace in the others.

`torch.set_num_threads` counts for the thread that calls it, and besides for every thread that uses
torch for the first time afterwards, which then keeps that number. Here the default of such threads
is put back at once; only one that comes within that moment would still take the number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

_changing = threading.Lock()


def take_threads(count: int) -> None:
    """Let torch take `count` threads for what the calling thread computes from now on."""
    # Asking comes first in any case: a thread that never asked takes over the default later on.
    if torch.get_num_threads() == count:
        return
    with _changing, ThreadPoolExecutor(1, "admiral-default") as new:
        default = new.submit(torch.get_num_threads).result()
        torch.set_num_threads(count)
        new.submit(torch.set_num_threads, default).result()


@contextmanager
def taking_threads(count: int) -> Iterator[None]:
    """Let torch take `count` threads in the calling thread, until the end of the block."""
    before = torch.get_num_threads()
    take_threads(count)
    try:
        yield
    finally:
        take_threads(before)
