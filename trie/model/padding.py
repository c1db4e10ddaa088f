"""Padding lists of unequal length to a rectangular batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def pad_batch(rows: Iterable[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return the rows padded on the right with `pad`, and their attention mask.

    The mask is derived from lengths: a row may contain `pad` itself. Both are int64, (rows, length
    of the longest row).
    """
    lists = [list(row) for row in rows]
    width = max(len(row) for row in lists)
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in lists], dtype=torch.int64)
    lengths = torch.tensor([len(row) for row in lists])
    return ids, (torch.arange(width) < lengths[:, None]).long()
