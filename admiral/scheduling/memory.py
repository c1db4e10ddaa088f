"""Recognise out-of-memory errors, and return freed memory to the device or operating system."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import time

import torch

# The host allocator, MPS and cuBLAS raise plain RuntimeErrors; these are parts of their messages.
_OUT_OF_MEMORY_MESSAGES = (
    "can't allocate memory",
    "out of memory",
    "bad_alloc",
    "STATUS_ALLOC_FAILED",
)

# Defined by glibc; None with other C libraries.
_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
_last_trim = -math.inf


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that the memory of the host or of a device is exhausted."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        message in str(error) for message in _OUT_OF_MEMORY_MESSAGES
    )


def free_cached_memory() -> None:
    """Collect garbage and empty the device's cache.

    Call it outside the ``except`` block of an out-of-memory error, whose traceback refers to the
    tensors.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def trim_heap(min_interval: float = 2.0) -> None:
    """Return freed memory of the heap to the operating system (glibc's ``malloc_trim``).

    glibc keeps the memory of a claim's tensors for the next claim: 300 MB that other processes lack
    while the system is idle. A trim takes 15 ms, so there are `min_interval` seconds between two,
    for streams of short claims. Does nothing with other C libraries.
    """
    global _last_trim
    now = time.monotonic()
    if now - _last_trim >= min_interval and _malloc_trim is not None:
        _last_trim = now
        _malloc_trim(0)
