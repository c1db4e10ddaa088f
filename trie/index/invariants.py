"""Invariants of a trie's arrays, and how few of them must be checked before a part is read.

Checksums detect damage by chance. The invariants also reject files that were written wrongly with
matching checksums, so that no content of a file leads to an endless loop or a dead end. They are
checked in two steps.

The structure (three bits per node and the list of nodes with several rows) is checked as a whole
when a trie is opened. Afterwards each node except the root is known to have one parent with a lower
number, so every node is reached by exactly one path and there are no cycles; and every leaf ends a
sequence, so there are no dead ends. The ranges of a node's children and rows lie within the arrays.
None of this depends on tokens and rows.

Tokens and rows are checked in blocks, each before its first item is read. Their invariants concern
single items and pairs of neighbours, which may belong to different blocks, so when all blocks of a
range are valid, so is the range. Tokens have at most 31 bits and ascend among the children of a
node: each leads to one child. Rows ascend within a node. No row occurs twice in the blocks checked
so far; as there are as many places as rows, each row occurs exactly once when all blocks are valid.
Together, the checks hold only for the arrays that building a trie would produce.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from trie.index.bit_vector import BitVector, PackedIntegers, Unsigned, pack_bits, unpack_bits
from trie.index.trie_build import MAX_TOKEN, TrieArrays


def structure_problems(arrays: TrieArrays) -> Iterator[tuple[str, str]]:
    """Yield the name of each array that violates an invariant of the structure, with the reason.

    Only the first problem is reliable, since each check assumes that the previous ones passed.
    """
    firsts, inner, shared = arrays.firsts, arrays.inner, arrays.shared
    if not firsts[0] or (firsts.size > 1 and not firsts[1]):
        yield "firsts", "the children of the root do not begin at node 1"
    if firsts.total != inner.total + 1:
        yield "firsts", f"{firsts.total - 1} nodes are first children, {inner.total} have children"
    if not _parents_come_first(firsts, inner):
        yield "inner", "a node comes before its parent"
    if shared.size:
        ending = arrays.rows.low.size - shared.size
        if int(shared[-1]) >= ending or np.any(shared[1:] < shared[:-1]):
            yield "shared", "the nodes with several rows do not ascend"


def token_problem(tokens: Unsigned, firsts: BitVector, begin: int, end: int) -> str:
    """Return what is wrong with a block of tokens, or an empty string.

    Parameters
    ----------
    tokens, firsts
        The arrays of all nodes.
    begin, end
        The bounds of the block; `begin` is a multiple of 64.
    """
    if tokens.itemsize > 2 and int(tokens[begin:end].max()) > MAX_TOKEN:
        return "a token id is too large"
    falls = np.zeros(end - begin, dtype=bool)
    second = max(begin, 1)  # the root has no predecessor
    np.less_equal(tokens[second:end], tokens[second - 1 : end - 1], out=falls[second - begin :])
    if np.any(pack_bits(falls) & ~firsts.words[begin >> 6 : end + 63 >> 6]):
        return "the children of a node do not ascend"
    return ""


class RowInvariants:
    """Checks the rows of a trie block by block, and remembers which rows have occurred.

    Parameters
    ----------
    rows, shared
        See `trie.index.trie_build.TrieArrays`.
    """

    def __init__(self, rows: PackedIntegers, shared: Unsigned) -> None:
        self._rows, self._shared = rows, shared
        self._seen = np.zeros(rows.low.size + 7 >> 3, dtype=np.uint8)  # a bitmask of rows

    def problem(self, begin: int, end: int) -> str:
        """Return what is wrong with a block of rows, or an empty string. Check each block once."""
        values = self._rows.block(begin, end).unpack()
        ascending = np.sort(values)
        places, bits = ascending >> 3, np.uint8(1) << (ascending & 7).astype(np.uint8)
        if (
            ascending[-1] >= self._rows.low.size
            or np.any(ascending[1:] == ascending[:-1])
            or np.any(self._seen[places] & bits)
        ):
            return "not every row occurs exactly once"
        # The places in this block whose predecessor is a row of the same node.
        low, high = self._shared_before(begin), self._shared_before(end)
        later = self._shared[low:high].astype(np.int64) + 1 + np.arange(low, high) - begin
        line = np.append(np.uint32(self._rows[begin - 1] if begin else 0), values)
        if np.any(line[later + 1] <= line[later]):
            return "the rows of a node do not ascend"
        np.bitwise_or.at(self._seen, places, bits)
        return ""

    def _shared_before(self, place: int) -> int:
        """Return how many rows before a place are not the first of their node."""
        shared = self._shared.data
        return bisect_left(range(len(shared)), place, key=lambda at: shared[at] + 1 + at)


def _parents_come_first(firsts: BitVector, inner: BitVector) -> bool:
    """Return whether each first child comes after its parent.

    The k-th first child (not counting the root) belongs to the k-th inner node. So there must be at
    least as many inner nodes before each first child as there are first children up to it. Words in
    which this follows from the counts alone, nearly all of a large trie, are not unpacked.
    """
    doubtful = np.flatnonzero(inner.counts[:-1] + np.uint8(1) < firsts.counts[1:])
    if not doubtful.size:
        return True
    starts = unpack_bits(firsts.words[doubtful], doubtful.size * 64).reshape(-1, 64)
    parents = unpack_bits(inner.words[doubtful], doubtful.size * 64).reshape(-1, 64)
    children_so_far = np.cumsum(starts, axis=1) + firsts.counts[doubtful, None] - 1
    parents_before = np.cumsum(parents, axis=1) - parents + inner.counts[doubtful, None]
    return bool(np.all((parents_before >= children_so_far) | ~starts))
