"""Lists of unequal lengths as tensors, for models that read them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def padded(rows: Iterable[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return what the rows hold, filled up with `pad`, and a mask that is 1 where it is theirs.

    The mask goes by length: a row may hold `pad` itself. Both are int64, (rows, longest row).
    """
    lists = [list(row) for row in rows]
    width = max(len(row) for row in lists)
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in lists], dtype=torch.int64)
    lengths = torch.tensor([len(row) for row in lists])
    return ids, (torch.arange(width) < lengths[:, None]).long()
