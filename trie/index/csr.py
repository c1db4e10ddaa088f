"""Compressed sparse rows (CSR): rows of variable length in one flat array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]


def row_positions(offsets: Ints, sizes: Ints) -> Ints:
    """Return the positions in the flat array of all items of some rows, row after row.

    Parameters
    ----------
    offsets, sizes
        Where each row begins in the flat array, and its length; int64, (rows,). Rows may overlap
        or repeat.
    """
    before = sizes.cumsum(dtype=np.int64) - sizes
    return np.arange(int(sizes.sum())) + (offsets - before).repeat(sizes)
