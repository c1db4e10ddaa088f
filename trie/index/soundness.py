"""What reading a trie relies on, and how little of it has to be looked at to rely on a part.

Checksums find what chance has done to a file. Whoever changes one on purpose can mend them, too, so
everything that reading relies on is checked besides, in two steps.

The shape, three bits a node and a list of the nodes with several rows, is checked as a whole when a
trie is opened. Each node but the root then has one parent, which has a lower number: every node is
reached, by one path, and there is no circle. Every leaf, and what says so of the others, ends a
sequence: there is no dead end. Where a node's children and rows lie is in the arrays, whatever
these hold. No token and no row can change any of that.

Tokens and rows are checked in blocks, each before the first of it is read. What is asked of them
is about one item, or about it and the one in front of it, which may be the last one of another
block. So whoever reads some neighbours knows, when the blocks of these are sound, that all pairs
among them are. Tokens are no larger than 31 bits and ascend among the children of a node: each
leads to one of them. Rows ascend at a node. That each is there once is about all of them: a sound
block holds no row twice, and none that an earlier one holds, so no row that was read is found
elsewhere; and as there are as many places as rows, each is there once when all blocks are sound.
So all blocks together are what building would have made of the sequences.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from trie.index.bits import Bits, Numbers, Unsigned, from_words, to_words
from trie.index.trie_build import MAX_TOKEN, TrieArrays


def shape_problems(arrays: TrieArrays) -> Iterator[tuple[str, str]]:
    """Yield the name of each array that breaks an invariant, and which; the first one counts."""
    firsts, inner, shared = arrays.firsts, arrays.inner, arrays.shared
    if not firsts[0] or (firsts.size > 1 and not firsts[1]):
        yield "firsts", "the children of the root do not begin behind it"
    if firsts.total != inner.total + 1:
        yield "firsts", f"{firsts.total - 1} nodes are first children, {inner.total} have children"
    if not _ordered(firsts, inner):
        yield "inner", "a node comes before its parent"
    if shared.size:
        ending = arrays.rows.low.size - shared.size
        if int(shared[-1]) >= ending or np.any(shared[1:] < shared[:-1]):
            yield "shared", "the nodes of several rows do not ascend"


def token_problem(tokens: Unsigned, firsts: Bits, begin: int, end: int) -> str:
    """Return what is wrong with a block of tokens; nothing, if all is well.

    Parameters
    ----------
    tokens, firsts
        Of all nodes.
    begin, end
        The bounds of the block; it begins with a word of bits.
    """
    if tokens.itemsize > 2 and int(tokens[begin:end].max()) > MAX_TOKEN:
        return "a token id is too large"
    falls = np.zeros(end - begin, dtype=bool)
    second = max(begin, 1)  # nothing is in front of the root
    np.less_equal(tokens[second:end], tokens[second - 1 : end - 1], out=falls[second - begin :])
    if np.any(to_words(falls) & ~firsts.words[begin >> 6 : end + 63 >> 6]):
        return "the children of a node do not ascend"
    return ""


class Rows:
    """Checks the rows of a trie, each block once, and remembers which rows they hold.

    Parameters
    ----------
    rows
        All of them.
    shared
        Of each but the first of its node, how many nodes that end sequences come before the node.
    """

    def __init__(self, rows: Numbers, shared: Unsigned) -> None:
        self._rows, self._shared = rows, shared
        self._seen = np.zeros(rows.low.size + 7 >> 3, dtype=np.uint8)  # a bit for each row

    def problem(self, begin: int, end: int) -> str:
        """Return what is wrong with a block of rows; nothing, if all is well."""
        values = self._rows.part(begin, end).values()
        found = np.sort(values)
        places, bits = found >> 3, np.uint8(1) << (found & 7).astype(np.uint8)
        if (
            found[-1] >= self._rows.low.size
            or np.any(found[1:] == found[:-1])
            or np.any(self._seen[places] & bits)
        ):
            return "not every row occurs exactly once"
        # Where there is a row behind another one of the same node.
        low, high = self._behind(begin), self._behind(end)
        later = self._shared[low:high].astype(np.int64) + 1 + np.arange(low, high) - begin
        line = np.append(np.uint32(self._rows[begin - 1] if begin else 0), values)
        if np.any(line[later + 1] <= line[later]):
            return "the rows of a node do not ascend"
        np.bitwise_or.at(self._seen, places, bits)
        return ""

    def _behind(self, place: int) -> int:
        """Return how many rows but the first ones of their nodes come before a place."""
        shared = self._shared.data
        return bisect_left(range(len(shared)), place, key=lambda at: shared[at] + 1 + at)


def _ordered(firsts: Bits, inner: Bits) -> bool:
    """Return whether each first child comes behind its parent.

    The first child with ``k`` first children and the root before it belongs to the node with
    ``k - 1`` parents before it. So, in front of each first child at least as many nodes with
    children have to lie as first children up to it. Where that holds for a whole word by its counts
    alone, which is nearly everywhere in a large trie, its bits need no look.
    """
    doubtful = np.flatnonzero(inner.before[:-1] + np.uint8(1) < firsts.before[1:])
    if not doubtful.size:
        return True
    starts = from_words(firsts.words[doubtful], doubtful.size * 64).reshape(-1, 64)
    parents = from_words(inner.words[doubtful], doubtful.size * 64).reshape(-1, 64)
    begun = np.cumsum(starts, axis=1) + firsts.before[doubtful, None] - 1
    known = np.cumsum(parents, axis=1) - parents + inner.before[doubtful, None]
    return bool(np.all((known >= begun) | ~starts))
