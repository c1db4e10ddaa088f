"""Rows of variable length in compressed sparse row (CSR) arrays: one flat array, and row sizes."""

from __future__ import annotations

import numpy as np

from trie.index.bit_vector import Ints, Unsigned


def row_positions(offsets: Ints, sizes: Ints) -> Ints:
    """Return the positions in the flat array of all items of some rows, row after row.

    Parameters
    ----------
    offsets, sizes
        Where each row begins in the flat array, and its length; int64, (rows,). Rows may overlap
        or repeat.

    Returns
    -------
    Ints
        The positions; (``sizes.sum()``,).
    """
    before = sizes.cumsum(dtype=np.int64) - sizes
    return np.arange(int(sizes.sum())) + (offsets - before).repeat(sizes)


def take_rows(flat: Unsigned, sizes: Ints, order: Ints) -> tuple[Unsigned, Ints]:
    """Return the rows `order` of a CSR array whose rows lie one after another, and their sizes."""
    offsets = (np.cumsum(sizes) - sizes)[order]
    return flat[row_positions(offsets, sizes[order])], sizes[order]
