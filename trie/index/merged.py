"""A trie of sequences that are in another one, and of some that are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from trie.index import trie_build
from trie.index.flatten import gather
from trie.index.token_trie import TokenTrie


def merged(
    base: TokenTrie,
    removed: Collection[int],
    added: Mapping[int, Sequence[int]],
    order: Sequence[int] | None,
) -> TokenTrie:
    """Return the trie of the sequences of `base`, without `removed` rows, and of `added` ones.

    Parameters
    ----------
    base, removed
        A trie, and some of its rows.
    added
        Sequences by row, ascending; rows are beyond those of the base.
    order
        Row ``order[i]`` becomes row ``i``; None stands for ascending rows.

    Raises
    ------
    ValueError
        If `order` does not name each row that is there once.
    """
    here = [row for row in range(len(base)) if row not in removed]
    here += added
    rows = np.array(here if order is None else order, dtype=np.int64)
    if not np.array_equal(np.sort(rows), here):
        raise ValueError("the order does not name each row once")
    flat, lengths = base.flatten()
    more, sizes = trie_build.read(added.values())
    flat, lengths = np.concatenate([flat, more]), np.concatenate([lengths, sizes])
    # Behind those of the base, the added ones lie without gaps.
    late = rows >= len(base)
    rows[late] = len(base) + np.array(list(added), dtype=np.int64).searchsorted(rows[late])
    return TokenTrie(trie_build.arrays(*gather(flat, lengths, rows)))
