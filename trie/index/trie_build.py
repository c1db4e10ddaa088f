"""Building a token trie: sort the sequences once, then number the nodes level by level.

Everything is done in passes over whole arrays; only the sequences themselves come one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from trie.index.bits import Bits, Bools, Ints, Numbers, Unsigned, Words, narrow

MAX_TOKEN = 2**31 - 1
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class TrieArrays:
    """What a trie is made of; see `trie.index.token_trie`.

    Attributes
    ----------
    tokens
        The token that leads to each node; (nodes,).
    firsts
        Bits: the node is its parent's first child, or the root.
    inner
        Bits: the node has children.
    ends
        Bits, one for each node with children: a sequence ends there.
    shared
        For each row but the first of its node, how many nodes that end sequences come before the
        node.
    """

    tokens: Unsigned
    firsts: Bits
    inner: Bits
    ends: Bits
    rows: Numbers
    shared: Unsigned

    def plain(self) -> dict[str, Unsigned]:
        """Return the arrays by the names of their files."""
        return {
            "tokens": self.tokens,
            "firsts": self.firsts.words,
            "inner": self.inner.words,
            "ends": self.ends.words,
            "rows": self.rows.low,
            "rows_high": self.rows.high,
            "shared": self.shared,
        }


def read(sequences: Iterable[Sequence[int]]) -> tuple[Unsigned, Ints]:
    """Return the tokens of all sequences behind each other, and the length of each.

    Raises
    ------
    ValueError
        If a token id is negative or beyond 31 bits.
    """
    stream = iter(sequences)
    tokens: list[Unsigned] = [np.empty(0, dtype=np.uint8)]
    lengths: list[int] = []
    while chunk := list(islice(stream, _CHUNK)):
        lengths += map(len, chunk)
        try:
            found = np.fromiter(chain.from_iterable(chunk), dtype=np.int64)
        except OverflowError:
            found = np.array([-1])
        if found.size and not 0 <= found.min() <= found.max() <= MAX_TOKEN:
            raise ValueError(f"token ids must lie between 0 and {MAX_TOKEN}")
        tokens.append(narrow(found))
    return np.concatenate(tokens), np.array(lengths, dtype=np.int64)


def arrays(flat: Unsigned, lengths: Ints) -> TrieArrays:
    """Return the trie of sequences that lie behind each other in `flat`."""
    starts = np.cumsum(lengths) - lengths
    order = sort(flat, starts, lengths)
    starts, lengths = starts[order], lengths[order]
    at = np.zeros(order.size, dtype=np.int64)  # the node that each sequence has reached
    active = np.arange(order.size)
    nodes = 1
    tokens: list[Unsigned] = [np.zeros(1, dtype=flat.dtype)]
    firsts: list[Bools] = [np.ones(1, dtype=bool)]
    parents = [np.empty(0, dtype=np.int64)]  # those of firsts, that is, the nodes with children
    rows, last = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for depth in range(int(lengths.max(initial=0)) + 1):
        longer = lengths[active] > depth
        rows.append(order[active[~longer]])
        last.append(at[~longer])
        active, at = active[longer], at[longer]
        if not active.size:
            break
        found = flat[starts[active] + depth]
        # Sorted, so equal beginnings are neighbours.
        new = _differs(at) | _differs(found)
        above = at[new]
        tokens.append(found[new])
        firsts.append(_differs(above))
        parents.append(above[firsts[-1]])
        at = nodes - 1 + np.cumsum(new)
        nodes += above.size
    ended = np.concatenate(last)  # ascends: it was collected level by level, in order
    begins = _differs(ended)
    inner, ending = np.zeros(nodes, dtype=bool), np.zeros(nodes, dtype=bool)
    inner[np.concatenate(parents)] = True
    ending[ended] = True
    return TrieArrays(
        tokens=np.concatenate(tokens),
        firsts=Bits.pack(np.concatenate(firsts)),
        inner=Bits.pack(inner),
        ends=Bits.pack(ending[inner]),
        rows=Numbers.pack(np.concatenate(rows)),
        shared=narrow(np.cumsum(begins)[~begins] - 1),
    )


def sort(flat: Unsigned, starts: Ints, lengths: Ints) -> Ints:
    """Return the order of sequences by their tokens, equal ones by number, shorter ones first.

    Several tokens at a time make a key of 64 bits; those that follow decide among equal keys.
    """
    bits = (int(flat.max(initial=0)) + 1).bit_length()  # the end is 0, token t is t + 1
    depth = 64 // bits
    keys = _keys(flat, starts, lengths, 0, depth, bits)
    order = np.argsort(keys)
    keys = keys[order]
    tied, group = _ties(keys, bits, np.arange(order.size), whole=True)
    # That sort was not stable; from here on they are. Rows and groups have 32 bits at most.
    order[tied] = np.sort(group << np.uint64(32) | order[tied].astype(np.uint64)) & np.uint64(
        2**32 - 1
    )
    tied, group = _ties(keys, bits, np.arange(order.size))
    while tied.size:
        taken = (64 - int(group[-1]).bit_length()) // bits
        here = order[tied]
        keys = _keys(flat, starts[here], lengths[here], depth, taken, bits)
        keys |= group << np.uint64(bits * taken)
        within = np.argsort(keys, kind="stable")
        order[tied] = here[within]
        tied, group = _ties(keys[within], bits, tied)
        depth += taken
    return order


def _keys(flat: Unsigned, starts: Ints, lengths: Ints, depth: int, count: int, bits: int) -> Words:
    """Return `count` tokens from `depth` on as one number."""
    keys = np.zeros(starts.size, dtype=np.uint64)
    for column in range(depth, depth + count):
        keys <<= np.uint64(bits)
        there = lengths > column
        keys[there] |= flat[starts[there] + column].astype(np.uint64) + np.uint64(1)
    return keys


def _ties(keys: Words, bits: int, places: Ints, *, whole: bool = False) -> tuple[Ints, Words]:
    """Return which of `places` have equal neighbours, and a number for each group of equals.

    Those at their end are equal for good and left out, unless they are `whole`.
    """
    begins = _differs(keys)
    tied = ~begins
    tied[:-1] |= tied[1:]
    if not whole:
        tied &= keys & np.uint64((1 << bits) - 1) != 0
    return places[tied], np.cumsum(begins[tied]).astype(np.uint64)


def _differs(values: Unsigned | Ints) -> Bools:
    """Return which values differ from the one before; the first does."""
    different = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=different[1:])
    return different
