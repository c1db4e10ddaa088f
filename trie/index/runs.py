"""Stretches of an array, taken out together."""

from __future__ import annotations

import numpy as np

from trie.index.bits import Ints


def runs(begins: Ints, sizes: Ints) -> Ints:
    """Return the places of all stretches behind each other.

    Parameters
    ----------
    begins, sizes
        Where each stretch begins, and how long it is; int64, (stretches,). They may overlap.
    """
    before = sizes.cumsum(dtype=np.int64) - sizes
    return np.arange(int(sizes.sum())) + (begins - before).repeat(sizes)
