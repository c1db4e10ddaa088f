"""Select the device and precision of the model, and resolve ``auto``."""

from __future__ import annotations

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from trie.model.packed_encoder import bfloat16_is_fast, check_int8

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}


def choose_device(name: str) -> str:
    """Return the torch device for a setting; ``auto`` is a CUDA GPU if there is one, else the CPU.

    Raises AdmiralError if the device does not exist on this machine.
    """
    if name != "auto":
        if _is_missing_gpu(name):
            raise AdmiralError(f"device {name!r}: {_missing_gpu_message()}")
        if name == "mps" and not torch.backends.mps.is_available():
            raise AdmiralError(f"device {name!r}: no Apple GPU is visible; use --device cpu")
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _is_missing_gpu(name: str) -> bool:
    if not name.startswith("cuda"):
        return False
    if not torch.cuda.is_available():
        return True
    # Parsed here, because torch takes cuda:256 for cuda:0.
    return int(name.partition(":")[2] or 0) >= torch.cuda.device_count()


def _missing_gpu_message() -> str:
    if not torch.cuda.is_available():
        return "no GPU is visible; use --device cpu"
    last = torch.cuda.device_count() - 1
    return f"the GPUs here are cuda:0 to cuda:{last}" if last else "the only GPU here is cuda:0"


def choose_precision(config: RetrievalConfig) -> str:
    """Return the precision of the settings; ``auto`` is bf16 if it is fast, else fp32.

    A GPU that this machine does not have may be on another node of a cluster; it is assumed to
    support bf16.
    """
    if config.precision != "auto":
        return config.precision
    if _is_missing_gpu(config.device):
        return "bf16"
    return "bf16" if bfloat16_is_fast(torch.device(choose_device(config.device))) else "fp32"


def precision_of(dtype: torch.dtype) -> str:
    """Return the name of the precision for a data type of matrix products."""
    return next(name for name, value in _DTYPES.items() if value is dtype)


def choose_dtype(config: RetrievalConfig) -> torch.dtype:
    """Return the data type of matrix products for the precision of the settings.

    Raises AdmiralError if the precision is int8 and the device does not support it.
    """
    dtype = _DTYPES[choose_precision(config)]
    if dtype is torch.int8:
        try:
            check_int8(torch.device(choose_device(config.device)))
        except ValueError as error:
            raise AdmiralError(f"setting 'precision': {error}") from error
    return dtype
