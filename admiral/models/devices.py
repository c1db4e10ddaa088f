"""Where the model computes, and in which precision; what ``auto`` stands for here."""

from __future__ import annotations

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from trie.model.bfloat16 import bfloat16_is_fast
from trie.model.int8 import check_int8

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}


def choose_device(name: str) -> str:
    """Return the device that a setting names; ``auto`` is the GPU where there is one."""
    if name != "auto":
        if _is_missing(name):
            raise AdmiralError(f"device {name!r}: {_why_missing()}")
        if name == "mps" and not torch.backends.mps.is_available():
            raise AdmiralError(f"device {name!r}: no GPU of Apple's is visible; use --device cpu")
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _is_missing(name: str) -> bool:
    """Return whether a device is a GPU of CUDA's that is not here."""
    if not name.startswith("cuda"):
        return False
    if not torch.cuda.is_available():
        return True
    # Not asked of torch, to which cuda:256 is cuda:0.
    return int(name.partition(":")[2] or 0) >= torch.cuda.device_count()


def _why_missing() -> str:
    if not torch.cuda.is_available():
        return "no GPU is visible; use --device cpu"
    last = torch.cuda.device_count() - 1
    return f"the GPUs here are cuda:0 to cuda:{last}" if last else "the only GPU here is cuda:0"


def choose_precision(config: RetrievalConfig) -> str:
    """Return the precision that the settings name; ``auto`` is bf16 where it is fast, or fp32.

    A GPU that is not here, but perhaps on another node of a cluster, is taken to have bf16.
    """
    if config.precision != "auto":
        return config.precision
    if _is_missing(config.device):
        return "bf16"
    return "bf16" if bfloat16_is_fast(torch.device(choose_device(config.device))) else "fp32"


def precision_of(dtype: torch.dtype) -> str:
    """Return the setting that a type of matrix products stands for."""
    return next(name for name, value in _DTYPES.items() if value is dtype)


def choose_dtype(config: RetrievalConfig) -> torch.dtype:
    """Return the type of matrix products for the precision of the settings.

    Raises
    ------
    AdmiralError
        For int8 where it is not to be had.
    """
    dtype = _DTYPES[choose_precision(config)]
    if dtype is torch.int8:
        try:
            check_int8(torch.device(choose_device(config.device)))
        except ValueError as error:
            raise AdmiralError(f"setting 'precision': {error}") from error
    return dtype
