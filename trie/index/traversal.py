"""Operations on all nodes of a token trie: listing its sequences, distances to their ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trie.index.bit_vector import Bools, Ints, Unsigned
from trie.index.trie_build import TrieArrays

UNREACHABLE = 1 << 40  # more than any distance to an end


def flatten(arrays: TrieArrays, levels: Sequence[int]) -> tuple[Unsigned, Ints]:
    """Return the tokens of all sequences, one after another in row order, and their lengths.

    Parameters
    ----------
    arrays
        The trie.
    levels
        The first node of each depth, followed by the number of nodes.
    """
    size, parents = arrays.rows.low.size, _parents(arrays)
    last = np.zeros(size, dtype=np.int64)  # the node at which the sequence of each row ends
    if size:
        ending = _ending(arrays)
        repeats = 1 + np.bincount(arrays.shared, minlength=np.count_nonzero(ending))
        last[arrays.rows.unpack()] = np.repeat(np.flatnonzero(ending), repeats)
    lengths = np.searchsorted(levels, last, side="right") - 1
    flat = np.empty(int(lengths.sum()), dtype=arrays.tokens.dtype)
    places = np.cumsum(lengths)
    while (left := last > 0).any():
        places, last = places[left] - 1, last[left]
        flat[places] = arrays.tokens[last]
        last = parents[last]
    return flat, lengths


def distances_to_end(arrays: TrieArrays, levels: Sequence[int], ignored: Sequence[int]) -> Ints:
    """Return the least number of tokens from each node to the end of a sequence; (nodes,).

    Ends at the nodes `ignored` do not count. The distance is `UNREACHABLE` or more where no end
    can be reached.
    """
    parents, ending = _parents(arrays), _ending(arrays)
    ending[list(ignored)] = False
    distances = np.where(ending & (arrays.rows.low.size > 0), 0, UNREACHABLE)
    for begin, end in reversed([*pairwise(levels)][1:]):
        np.minimum.at(distances, parents[begin:end], distances[begin:end] + 1)
    return distances


def _parents(arrays: TrieArrays) -> Ints:
    """Return the parent of each node; the root, 0, is its own parent."""
    parents = np.zeros(arrays.tokens.size, dtype=np.int64)
    inner = np.flatnonzero(arrays.inner.flags())
    parents[1:] = inner[np.cumsum(arrays.firsts.flags()[1:]) - 1]
    return parents


def _ending(arrays: TrieArrays) -> Bools:
    """Return whether a sequence ends at each node of a trie that is not empty."""
    inner = arrays.inner.flags()
    ending = ~inner
    ending[inner] = arrays.ends.flags()
    return ending
