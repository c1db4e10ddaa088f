"""Rows of bits, one for each token, for the few nodes of a trie that have very many children.

The root of a trie of titles has tens of thousands. Such a row takes less room than the tokens
themselves, and tells in a constant number of steps whether one follows, and to which node.
"""

from __future__ import annotations

import numpy as np

from trie.bits import Bits
from trie.build import TrieArrays

# Nodes with at least so many children have a row, unless it had more than so many bits for each.
_CHILDREN, _BITS_A_CHILD = 1024, 64


def wide_rows(arrays: TrieArrays) -> dict[int, tuple[int, Bits]]:
    """Return the first child and the row of each very wide node; row bit ``t`` is for token ``t``.

    Children lie in the order of their tokens, so the one behind ``t`` is the first child plus the
    number of bits in front of ``t``.
    """
    tokens, firsts = arrays.tokens, arrays.firsts
    least = max(_CHILDREN, int(tokens.max()) // _BITS_A_CHILD)
    # So many nodes without a first child among them span whole words without a bit.
    begins, ends = (
        np.flatnonzero(np.diff(firsts.words == 0, prepend=False, append=False)).reshape(-1, 2).T
    )
    rows = {}
    for begin in begins[ends - begins >= least // 64 - 1].tolist():
        number = firsts.rank(begin << 6) - 1
        first = firsts.select(number)
        end = firsts.following(first + 1)
        if end - first >= least:
            row = np.zeros(int(tokens[end - 1]) + 1, dtype=bool)
            row[tokens[first:end]] = True
            rows[arrays.inner.select(number - 1)] = first, Bits.pack(row)
    return rows
