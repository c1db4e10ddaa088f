"""Rows of bits, one for each token, for the few nodes of a trie that have very many children.

The root of a trie of titles has tens of thousands. Such a row takes less room than the tokens
themselves, and tells in a constant number of steps whether one follows, and to which node: children
lie in the order of their tokens, so the one behind ``t`` is the first child plus the number of bits
in front of ``t``.
"""

from __future__ import annotations

import numpy as np

from trie.index.bits import Bits, Unsigned

# Nodes with at least so many children have a row, unless it had more than so many bits for each.
_CHILDREN, _BITS_A_CHILD = 1024, 64


def pays_off(tokens: Unsigned, first: int, end: int) -> bool:
    """Whether a node whose children are those from `first` to below `end` is wide enough."""
    return end - first >= _CHILDREN and int(tokens[end - 1]) < (end - first) * _BITS_A_CHILD


def wide_row(tokens: Unsigned) -> Bits:
    """Return the row of a node with children behind these tokens; bit ``t`` is for token ``t``."""
    row = np.zeros(int(tokens[-1]) + 1, dtype=bool)
    row[tokens] = True
    return Bits.pack(row)
