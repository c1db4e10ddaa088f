"""The usual constraint of ``generate``: a prefix function over nested dicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def prefix_function(
    sequences: Sequence[Sequence[int]], end: int
) -> Callable[[int, torch.Tensor], list[int]]:
    """Return a `prefix_allowed_tokens_fn` for `sequences`, each with the end token behind it."""
    root: dict[int, Any] = {}
    for sequence in sequences:
        node = root
        for token in (*sequence, end):
            node = node.setdefault(token, {})

    def following(_: int, ids: torch.Tensor) -> list[int]:
        node = root
        for token in ids.tolist()[1:]:
            node = node.get(token, {})
        return list(node) or [end]

    return following
