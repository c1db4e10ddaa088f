"""An immutable trie of token sequences in four flat arrays, opened by memory map.

Nodes are numbered breadth first, so the children of a node are consecutive, and ascend by token.
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<|][biuf]\d{1,2})', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,18},)?|\d{1,18}(?:, \d{1,18})+)\), \} *\n"
)


def open_array(path: Path, *, mapped: bool = True) -> np.ndarray:
    """Open the array in an ``.npy`` file, memory-mapped (read-only) or read into memory.

    Only arrays of numbers or booleans in C order are supported.

    Raises `OSError` or `ValueError` if the file is missing, or its header or length is damaged. The
    values are not checked.
    """
    with path.open("rb") as file:
        magic, length = file.read(len(_MAGIC)), file.read(2)
        header = _HEADER.fullmatch(file.read(int.from_bytes(length, "little")))
        if magic != _MAGIC or header is None:
            raise ValueError(f"{path.name}: not an array")
        try:
            dtype = np.dtype(header[1].decode())
        except TypeError as error:
            raise ValueError(f"{path.name}: not an array ({error})") from error
        shape = tuple(map(int, header[2].replace(b",", b" ").split()))
        start, count = file.tell(), math.prod(shape)
        if os.fstat(file.fileno()).st_size < start + count * dtype.itemsize:
            raise ValueError(f"{path.name}: not an array (truncated)")
        if mapped:
            return np.memmap(file, dtype, "r", start, shape)
        return np.fromfile(file, dtype, count).reshape(shape)


Ints = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]

VERSION = 4
_MAX_TOKEN = 2**31 - 1


class TrieFileError(ValueError):
    """A file of a trie is missing, damaged or of another version; the message names the file."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class TrieArrays(NamedTuple):
    """The arrays of a trie, each stored in a file of its name."""

    tokens: Unsigned  # on the edge to each node; (nodes,). That of the root is 0.
    children: Unsigned  # the first child of each node, and the number of nodes; (nodes + 1,)
    ends: Unsigned  # where the rows of each node begin in `rows`, and their number; (nodes + 1,)
    rows: Unsigned  # of the sequences that end at node 0, at node 1, and so on; (rows,)


class TokenTrie:
    """A trie of token id sequences. Use `build` or `open` to make one.

    The row of a sequence is its position among the sequences that the trie was built from. Several
    sequences may be equal, or one a prefix of another; the empty sequence ends at the root. The
    length of a trie is the number of sequences; `nodes` is that of the nodes, including the root.
    """

    root = 0  # the node of the empty prefix

    def __init__(self, arrays: TrieArrays) -> None:
        self._arrays, self.nodes = arrays, arrays.tokens.size
        # Single items of a memoryview are read several times faster than those of an array.
        self._tokens, self._children = arrays.tokens.data, arrays.children.data
        self._ends = arrays.ends.data

    @classmethod
    def build(cls, sequences: Iterable[Sequence[int]]) -> TokenTrie:
        """Build the trie of `sequences`, which are iterated over once.

        Raises ValueError if a token id is negative or needs more than 31 bits.
        """
        return cls(build_arrays(*concatenate(sequences)))

    def save(self, directory: str | Path) -> None:
        """Write the arrays and ``meta.json`` into an existing directory. Not atomic."""
        directory, checksums = Path(directory), {}
        for name, values in self._arrays._asdict().items():
            path = directory / f"{name}.npy"
            np.save(path, values, allow_pickle=False)
            checksums[name] = zlib.crc32(path.read_bytes())
        meta = json.dumps({"version": VERSION, "crc32": checksums})
        (directory / "meta.json").write_text(f"{meta}\n", encoding="utf-8")

    @classmethod
    def open(cls, directory: str | Path) -> TokenTrie:
        """Check all files of a saved trie and open it by memory map.

        Raises TrieFileError if a file is missing, damaged or of another version.
        """
        directory = Path(directory)
        checksums = _read_checksums(directory / "meta.json")
        arrays = []
        for name in TrieArrays._fields:
            path = directory / f"{name}.npy"
            try:
                if zlib.crc32(path.read_bytes()) != checksums.get(name):
                    raise ValueError("the checksum differs")
                # A plain view: slices of np.memmap are several times slower.
                arrays.append(np.asarray(open_array(path)))
            except (OSError, ValueError) as error:
                raise TrieFileError(path, f"damaged ({error})") from error
        return cls(TrieArrays(*arrays))

    def __len__(self) -> int:
        return self._arrays.rows.size

    @cached_property
    def levels(self) -> list[int]:
        """The first node of each depth, followed by the number of nodes."""
        starts = [0]
        while starts[-1] < self.nodes:
            starts.append(self._children[starts[-1]])
        return starts

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence."""
        return len(self.levels) - 2

    def children(self, node: int) -> tuple[Ints, Ints]:
        """Return the tokens that may follow at `node`, ascending, and the child by each of them."""
        first, end = self._children[node], self._children[node + 1]
        return self._arrays.tokens[first:end].astype(np.int64), np.arange(first, end)

    def child(self, node: int, token: int) -> int:
        """Return the child of `node` by `token`, or -1."""
        end = self._children[node + 1]
        place = bisect_left(self._tokens, token, self._children[node], end)
        return place if place < end and self._tokens[place] == token else -1

    def walk(self, ids: Iterable[int], node: int = root) -> int:
        """Return the node that `ids` lead to from `node`, or -1 if they leave the trie."""
        for token in ids:
            node = self.child(node, token)
            if node < 0:
                break
        return node

    def depth(self, node: int) -> int:
        """Return the number of tokens on the path from the root to `node`."""
        return bisect_right(self.levels, node) - 1

    def ends(self, node: int) -> bool:
        """Return whether a sequence ends at `node`."""
        return self._ends[node] < self._ends[node + 1]

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        return self._arrays.rows[self._ends[node] : self._ends[node + 1]].astype(np.int64)

    def nodes_after(self, token: int) -> Ints:
        """Return all nodes whose last token is `token`."""
        return np.flatnonzero(self._arrays.tokens[1:] == token) + 1

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence."""
        return self.nodes_after(token).size > 0

    def sequences(self) -> list[list[int]]:
        """Return the sequences that the trie was built from, in the order of rows."""
        paths: list[list[int]] = [[]]
        children = self._children
        for node in range(self.nodes):
            path = paths[node]
            paths += ([*path, self._tokens[n]] for n in range(children[node], children[node + 1]))
        found: list[list[int]] = [[]] * len(self)
        for node, path in enumerate(paths):
            for row in self._arrays.rows[self._ends[node] : self._ends[node + 1]].tolist():
                found[row] = path
        return found

    def distances_to_end(self) -> Ints:
        """Return the least number of tokens from each node to the end of a sequence; (nodes,)."""
        children, ends = self._arrays.children.astype(np.int64), self._arrays.ends
        parents = np.arange(self.nodes).repeat(children[1:] - children[:-1])  # but the root's
        distances = np.where(ends[1:] > ends[:-1], 0, self.longest)
        for begin, end in reversed([*pairwise(self.levels)][1:]):
            np.minimum.at(distances, parents[begin - 1 : end - 1], distances[begin:end] + 1)
        return distances


def concatenate(sequences: Iterable[Sequence[int]]) -> tuple[Unsigned, Ints]:
    """Return the tokens of all sequences, one after another, and the length of each."""
    tokens, lengths = array("i"), array("q")
    for sequence in sequences:
        try:
            tokens.extend(sequence)
        except OverflowError:
            tokens.append(-1)
        lengths.append(len(sequence))
    flat = np.array(tokens)
    if flat.min(initial=0) < 0:
        raise ValueError(f"token ids must lie between 0 and {_MAX_TOKEN}")
    return _narrow(flat), np.array(lengths)


def build_arrays(flat: Unsigned, lengths: Ints) -> TrieArrays:
    """Return the trie of sequences that lie one after another in `flat`, built level by level."""
    starts, width = np.cumsum(lengths) - lengths, int(flat.max(initial=0)) + 1
    reached = np.zeros(lengths.size, dtype=np.int64)  # the node to which each sequence was followed
    tokens, counts = [np.zeros(1, dtype=np.int64)], []
    level, nodes, depth = 0, 1, 0
    while (longer := np.flatnonzero(lengths > depth)).size:
        keys = (reached[longer] - level) * width + flat[starts[longer] + depth]
        distinct, inverse = np.unique(keys, return_inverse=True)
        tokens.append(distinct % width)
        counts.append(np.bincount(distinct // width, minlength=nodes - level))
        reached[longer] = nodes + inverse
        level, nodes, depth = nodes, nodes + distinct.size, depth + 1
    counts.append(np.zeros(nodes - level, dtype=np.int64))
    ends = np.bincount(reached, minlength=nodes)
    arrays = (
        np.concatenate(tokens),
        1 + np.cumsum(np.concatenate([[0], *counts])),
        np.cumsum(np.concatenate([[0], ends])),
        np.argsort(reached, kind="stable"),
    )
    return TrieArrays(*map(_narrow, arrays))


def _narrow(values: Ints) -> Unsigned:
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def row_positions(offsets: Ints, sizes: Ints) -> Ints:
    """Return the positions of all items of some rows, which begin at `offsets`, row after row."""
    before = sizes.cumsum(dtype=np.int64) - sizes
    return np.arange(int(sizes.sum())) + (offsets - before).repeat(sizes)


def _read_checksums(path: Path) -> dict[str, int]:
    try:
        meta = json.loads(path.read_bytes())
        version, checksums = meta["version"], dict(meta["crc32"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TrieFileError(path, f"not the description of a trie ({error})") from error
    if version != VERSION:
        raise TrieFileError(
            path,
            f"format version {version!r}, but this program reads {VERSION}; build the trie again",
        )
    return checksums
