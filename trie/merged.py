"""A trie of sequences that are in another one, and of some that are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trie import build
from trie.flatten import gather
from trie.token_trie import TokenTrie


def merged(base: TokenTrie, added: Mapping[int, Sequence[int]], order: Sequence[int]) -> TokenTrie:
    """Return the trie whose row ``i`` is row ``order[i]``, of `base` or of what is `added`.

    Parameters
    ----------
    base
        A trie.
    added
        Sequences by row, ascending; rows are beyond those of the base.
    order
        Some of the rows.
    """
    flat, lengths = base.flatten()
    more, sizes = build.read(added.values())
    flat, lengths = np.concatenate([flat, more]), np.concatenate([lengths, sizes])
    rows = np.array(order, dtype=np.int64)
    # Behind those of the base, the added ones lie without gaps.
    late = rows >= len(base)
    rows[late] = len(base) + np.array(list(added), dtype=np.int64).searchsorted(rows[late])
    return TokenTrie(build.arrays(*gather(flat, lengths, rows)))
