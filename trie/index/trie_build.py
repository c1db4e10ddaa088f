"""Building a token trie: sort the sequences once, then number the nodes level by level.

All steps are passes over whole arrays; only reading the input loops over sequences in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from trie.index.bit_vector import (
    BitVector,
    Bools,
    Ints,
    PackedIntegers,
    Unsigned,
    Words,
    narrow,
)

MAX_TOKEN = 2**31 - 1
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class TrieArrays:
    """The arrays of a trie; `trie.index.louds` explains the encoding.

    Attributes
    ----------
    tokens
        The token on the edge to each node; (nodes,). That of the root is 0.
    firsts
        One bit per node: it is its parent's first child, or the root.
    inner
        One bit per node: it has children.
    ends
        One bit per inner node: a sequence ends there.
    rows
        The rows of the sequences, in the order of the nodes at which these end; (rows,).
    shared
        For each row that is not the first of its node, how many sequence-ending nodes come before
        that node; ascending.
    """

    tokens: Unsigned
    firsts: BitVector
    inner: BitVector
    ends: BitVector
    rows: PackedIntegers
    shared: Unsigned

    def by_file_name(self) -> dict[str, Unsigned]:
        """Return the plain arrays by the names of their files."""
        return {
            "tokens": self.tokens,
            "firsts": self.firsts.words,
            "inner": self.inner.words,
            "ends": self.ends.words,
            "rows": self.rows.low,
            "rows_high": self.rows.high,
            "shared": self.shared,
        }


def concatenate(sequences: Iterable[Sequence[int]]) -> tuple[Unsigned, Ints]:
    """Return the tokens of all sequences, one after another, and the length of each.

    Raises
    ------
    ValueError
        If a token id is negative or needs more than 31 bits.
    """
    stream = iter(sequences)
    tokens: list[Unsigned] = [np.empty(0, dtype=np.uint8)]
    lengths: list[int] = []
    while chunk := list(islice(stream, _CHUNK)):
        lengths += map(len, chunk)
        try:
            ids = np.fromiter(chain.from_iterable(chunk), dtype=np.int64)
        except OverflowError:
            ids = np.array([-1])
        if ids.size and not 0 <= ids.min() <= ids.max() <= MAX_TOKEN:
            raise ValueError(f"token ids must lie between 0 and {MAX_TOKEN}")
        tokens.append(narrow(ids))
    return np.concatenate(tokens), np.array(lengths, dtype=np.int64)


def build_arrays(flat: Unsigned, lengths: Ints) -> TrieArrays:
    """Return the trie of sequences that lie one after another in `flat`."""
    starts = np.cumsum(lengths) - lengths
    order = sort_sequences(flat, starts, lengths)
    starts, lengths = starts[order], lengths[order]
    at = np.zeros(order.size, dtype=np.int64)  # the node that each active sequence has reached
    active = np.arange(order.size)
    nodes = 1
    tokens: list[Unsigned] = [np.zeros(1, dtype=flat.dtype)]
    firsts: list[Bools] = [np.ones(1, dtype=bool)]
    parents = [np.empty(0, dtype=np.int64)]  # the inner nodes: the parents of first children
    rows, last = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for depth in range(int(lengths.max(initial=0)) + 1):
        longer = lengths[active] > depth
        rows.append(order[active[~longer]])
        last.append(at[~longer])
        active, at = active[longer], at[longer]
        if not active.size:
            break
        token = flat[starts[active] + depth]
        # Sequences are sorted, so those with an equal prefix are neighbours.
        new = _differs(at) | _differs(token)
        parent = at[new]
        tokens.append(token[new])
        firsts.append(_differs(parent))
        parents.append(parent[firsts[-1]])
        at = nodes - 1 + np.cumsum(new)
        nodes += parent.size
    ended = np.concatenate(last)  # ascending, since levels were visited in order
    begins = _differs(ended)
    inner, ending = np.zeros(nodes, dtype=bool), np.zeros(nodes, dtype=bool)
    inner[np.concatenate(parents)] = True
    ending[ended] = True
    return TrieArrays(
        tokens=np.concatenate(tokens),
        firsts=BitVector.pack(np.concatenate(firsts)),
        inner=BitVector.pack(inner),
        ends=BitVector.pack(ending[inner]),
        rows=PackedIntegers.pack(np.concatenate(rows)),
        shared=narrow(np.cumsum(begins)[~begins] - 1),
    )


def sort_sequences(flat: Unsigned, starts: Ints, lengths: Ints) -> Ints:
    """Return the lexicographic order of sequences; equal ones are ordered by row.

    As many tokens as fit are packed into 64-bit keys; the next tokens break ties.
    """
    bits = (int(flat.max(initial=0)) + 1).bit_length()  # 0 is the end, token t is t + 1
    depth = 64 // bits
    keys = _keys(flat, starts, lengths, 0, depth, bits)
    order = np.argsort(keys)
    keys = keys[order]
    tied, group = _ties(keys, bits, np.arange(order.size), keep_ended=True)
    # The first sort was not stable, so ties are put into row order; later sorts are stable. Rows
    # and groups have at most 32 bits.
    order[tied] = np.sort(group << np.uint64(32) | order[tied].astype(np.uint64)) & np.uint64(
        2**32 - 1
    )
    tied, group = _ties(keys, bits, np.arange(order.size))
    while tied.size:
        count = (64 - int(group[-1]).bit_length()) // bits
        rows = order[tied]
        keys = _keys(flat, starts[rows], lengths[rows], depth, count, bits)
        keys |= group << np.uint64(bits * count)
        within = np.argsort(keys, kind="stable")
        order[tied] = rows[within]
        tied, group = _ties(keys[within], bits, tied)
        depth += count
    return order


def _keys(flat: Unsigned, starts: Ints, lengths: Ints, depth: int, count: int, bits: int) -> Words:
    """Pack `count` tokens of each sequence, from `depth` on, into one integer."""
    keys = np.zeros(starts.size, dtype=np.uint64)
    for column in range(depth, depth + count):
        keys <<= np.uint64(bits)
        longer = lengths > column
        keys[longer] |= flat[starts[longer] + column].astype(np.uint64) + np.uint64(1)
    return keys


def _ties(keys: Words, bits: int, places: Ints, *, keep_ended: bool = False) -> tuple[Ints, Words]:
    """Return which of `places` have a neighbour with an equal key, and the group of each.

    Sequences that have ended are equal for good and left out, unless `keep_ended` is true.
    """
    begins = _differs(keys)
    tied = ~begins
    tied[:-1] |= tied[1:]
    if not keep_ended:
        tied &= keys & np.uint64((1 << bits) - 1) != 0
    return places[tied], np.cumsum(begins[tied]).astype(np.uint64)


def _differs(values: Unsigned | Ints) -> Bools:
    """Return which values differ from their predecessor; the first one does."""
    different = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=different[1:])
    return different
