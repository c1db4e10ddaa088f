"""What running out of memory looks like, and how to get back what a failed step held."""

from __future__ import annotations

import gc

import torch

# Words of allocators whose errors are plain RuntimeErrors: the host's, MPS's and cuBLAS's.
_WORDS = ("can't allocate memory", "out of memory", "bad_alloc", "STATUS_ALLOC_FAILED")


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
