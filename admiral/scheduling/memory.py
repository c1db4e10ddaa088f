"""What running out of memory looks like, and how freed memory goes back to where it came from."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import time

import torch

# Words of allocators whose errors are plain RuntimeErrors: the host's, MPS's and cuBLAS's.
_WORDS = ("can't allocate memory", "out of memory", "bad_alloc", "STATUS_ALLOC_FAILED")

# The C library's, where it is glibc.
_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
_trimmed = -math.inf


def ran_out(error: BaseException) -> bool:
    """Return whether an error says that memory, the host's or a device's, is too small."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _WORDS)


def release() -> None:
    """Give back what nothing refers to any more; call it outside of the error's `except`."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def trim(pause: float = 2.0) -> None:
    """Give memory that was freed back to the system, unless that was done a moment ago.

    glibc keeps what the tensors of a claim took for those of the next one: 300 MB that other
    processes lack while nobody asks. To give them back takes 15 ms, which many short claims in a
    row are spared. Other allocators are left to themselves.

    Parameters
    ----------
    pause
        Seconds from one time to the next.
    """
    global _trimmed
    now = time.monotonic()
    if now - _trimmed >= pause and _malloc_trim is not None:
        _trimmed = now
        _malloc_trim(0)
