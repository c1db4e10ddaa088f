"""Checks of loaded weights, and errors of loading libraries in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import nn

# The errors that libraries raise for files that are damaged or have other content.
LOADING_ERRORS = (OSError, ValueError, RuntimeError, SafetensorError, KeyError, TypeError)


def check_finite(model: nn.Module) -> None:
    """Raise `ValueError` if a weight is not a finite number: such a model says anything."""
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise ValueError(f"the weights {name} are not finite")


@contextmanager
def explained(directory: Path) -> Iterator[None]:
    """Turn the errors of loading libraries into a `ValueError` that names the directory."""
    try:
        yield
    except LOADING_ERRORS as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"{directory}: not a usable classifier ({reason}); restore it or choose another"
        ) from error
