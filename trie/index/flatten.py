"""What looks at all nodes of a token trie: its sequences, and how far each node is from an end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trie.index.bits import Bools, Ints, Unsigned
from trie.index.runs import runs
from trie.index.trie_build import TrieArrays

FAR = 1 << 40  # farther than any end is


def flatten(arrays: TrieArrays, levels: Sequence[int]) -> tuple[Unsigned, Ints]:
    """Return the tokens of all sequences behind each other, by row, and their lengths.

    Parameters
    ----------
    arrays
        The trie.
    levels
        Where the nodes of each depth begin, and the number of nodes.
    """
    size, parents = arrays.rows.low.size, _parents(arrays)
    last = np.zeros(size, dtype=np.int64)  # the node where each row's sequence ends
    if size:
        ending = _ending(arrays)
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


def fewest(arrays: TrieArrays, levels: Sequence[int], silent: Sequence[int]) -> Ints:
    """Return how many tokens lead from each node to the next end of a sequence; (nodes,).

    At `silent` nodes no end counts; `FAR` or more stands for none at all.
    """
    parents, ending = _parents(arrays), _ending(arrays)
    ending[list(silent)] = False
    found = np.where(ending & (arrays.rows.low.size > 0), 0, FAR)
    for begin, end in reversed([*pairwise(levels)][1:]):
        np.minimum.at(found, parents[begin:end], found[begin:end] + 1)
    return found


def _parents(arrays: TrieArrays) -> Ints:
    """Return the node in front of each; the root, 0, is its own: that ends the way up."""
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


def gather(flat: Unsigned, lengths: Ints, order: Ints) -> tuple[Unsigned, Ints]:
    """Return sequences that lie behind each other in `flat` in another order, or some of them."""
    starts = (np.cumsum(lengths) - lengths)[order]
    return flat[runs(starts, lengths[order])], lengths[order]
