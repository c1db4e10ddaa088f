"""The sequences of a token trie, read back all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trie.bits import Ints, Unsigned
from trie.build import TrieArrays


def flatten(arrays: TrieArrays, levels: Sequence[int]) -> tuple[Unsigned, Ints]:
    """Return the tokens of all sequences behind each other, by row, and their lengths.

    Parameters
    ----------
    arrays
        The trie.
    levels
        Where the nodes of each depth begin, and the number of nodes.
    """
    size, inner = arrays.rows.low.size, arrays.inner.flags()
    # The root, 0, is its own parent here: that ends the way up.
    parents = np.zeros(arrays.tokens.size, dtype=np.int64)
    parents[1:] = np.flatnonzero(inner)[np.cumsum(arrays.firsts.flags()[1:]) - 1]
    last = np.zeros(size, dtype=np.int64)  # the node where each row's sequence ends
    if size:
        ending = ~inner
        ending[inner] = arrays.ends.flags()
        repeats = 1 + np.bincount(arrays.shared, minlength=np.count_nonzero(ending))
        last[arrays.rows.values()] = np.repeat(np.flatnonzero(ending), repeats)
    lengths = np.searchsorted(levels, last, side="right") - 1
    flat = np.empty(int(lengths.sum()), dtype=arrays.tokens.dtype)
    places = np.cumsum(lengths)
    while (left := last > 0).any():
        places, last = places[left] - 1, last[left]
        flat[places] = arrays.tokens[last]
        last = parents[last]
    return flat, lengths


def gather(flat: Unsigned, lengths: Ints, order: Ints) -> tuple[Unsigned, Ints]:
    """Return sequences that lie behind each other in `flat` in another order, or some of them."""
    starts = (np.cumsum(lengths) - lengths)[order]
    lengths = lengths[order]
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return flat[shift + np.arange(shift.size)], lengths
