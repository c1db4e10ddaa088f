"""An immutable trie of token sequences in four flat arrays, built and opened without loops over it.

Nodes are numbered breadth first, so the children of a node are neighbours and one array of offsets
says where they lie: node ``n`` has the children ``children[n]`` to ``children[n + 1] - 1``, which
are reached by ``tokens[child]`` and ascend by it. The rows of the sequences that end at node ``n``
are ``rows[ends[n]:ends[n + 1]]``.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_Unsigned = npt.NDArray[np.unsignedinteger[Any]]

_META = "meta.json"
_VERSION = 1
_NAMES = ("tokens", "children", "ends", "rows")
_TYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_MAX_TOKEN = 2**31 - 1


class TokenTrie:
    """Sequences of token ids; the row of a sequence is its position among those it was built from.

    Several sequences may be equal, or one the beginning of another; the empty one ends at the root.
    Make one with `build` or `open`. ``len(trie)`` is the number of sequences.
    """

    root = 0

    def __init__(
        self, tokens: _Unsigned, children: _Unsigned, ends: _Unsigned, rows: _Unsigned
    ) -> None:
        self._tokens, self._children, self._ends, self._rows = tokens, children, ends, rows
        self._token_type = tokens.dtype.type
        self._token_limit = int(np.iinfo(tokens.dtype).max)

    @classmethod
    def build(cls, sequences: Iterable[Sequence[int]]) -> TokenTrie:
        """Build the trie of `sequences`, level by level.

        Raises
        ------
        ValueError
            If a token id is negative or beyond 31 bits.
        """
        buffer, sizes = array("q"), array("q")
        for sequence in sequences:
            buffer.extend(sequence)
            sizes.append(len(sequence))
        flat, lengths = np.array(buffer, dtype=np.int64), np.array(sizes, dtype=np.int64)
        if flat.size and not 0 <= flat.min() <= flat.max() <= _MAX_TOKEN:
            raise ValueError(f"token ids must lie between 0 and {_MAX_TOKEN}")
        width = int(flat.max(initial=0)) + 1
        starts = np.cumsum(lengths) - lengths
        last = np.zeros(lengths.size, dtype=np.int64)  # the node where each row ends
        active, at = np.arange(lengths.size), np.zeros(lengths.size, dtype=np.int64)
        tokens, parents = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        nodes = 1
        for depth in range(int(lengths.max(initial=0)) + 1):
            longer = lengths[active] > depth
            last[active[~longer]] = at[~longer]
            active, at = active[longer], at[longer]
            # Sorted by parent, then token: just the order in which the children are numbered.
            edges, edge = np.unique(at * width + flat[starts[active] + depth], return_inverse=True)
            tokens.append(edges % width)
            parents.append(edges // width)
            at = nodes + edge
            nodes += edges.size
        return cls(
            _narrow(np.concatenate(tokens)),
            _narrow(_offsets(np.concatenate(parents), nodes) + 1),
            _narrow(_offsets(last, nodes)),
            _narrow(np.argsort(last, kind="stable")),
        )

    @property
    def nodes(self) -> int:
        """Number of nodes, the root included."""
        return self._tokens.size

    def __len__(self) -> int:
        return self._rows.size

    def children(self, node: int) -> tuple[Ints, int]:
        """Return the tokens that lead on from `node`, ascending, and the first one's child."""
        first, end = int(self._children[node]), int(self._children[node + 1])
        return self._tokens[first:end].astype(np.int64), first

    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""
        if not 0 <= token <= self._token_limit:
            return -1
        first, end = int(self._children[node]), int(self._children[node + 1])
        # In the array's own type: any other would make numpy copy the whole slice.
        found = first + int(self._tokens[first:end].searchsorted(self._token_type(token)))
        return found if found < end and self._tokens[found] == token else -1

    def walk(self, ids: Iterable[int], node: int = root) -> int:
        """Return the node that `ids` lead to from `node`, -1 where they leave the trie."""
        for token in ids:
            node = self.child(node, token)
            if node < 0:
                break
        return node

    def ends(self, node: int) -> bool:
        """Whether a sequence ends at `node`."""
        return bool(self._ends[node] < self._ends[node + 1])

    def rows(self, node: int) -> Ints:
        """Return the rows of the sequences that end at `node`, ascending."""
        return self._rows[int(self._ends[node]) : int(self._ends[node + 1])].astype(np.int64)

    def holds(self, token: int) -> bool:
        """Whether `token` occurs in any sequence (looks at all nodes)."""
        return bool(np.any(self._tokens[1:] == token))

    def save(self, directory: str | Path) -> None:
        """Write the arrays into an existing directory; making that atomic is the caller's part."""
        directory = Path(directory)
        for name in _NAMES:
            np.save(directory / f"{name}.npy", getattr(self, f"_{name}"), allow_pickle=False)
        meta = {"version": _VERSION, "nodes": self.nodes, "rows": len(self)}
        (directory / _META).write_text(json.dumps(meta) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, directory: str | Path) -> TokenTrie:
        """Open a saved trie by memory map, after a check of everything that reading relies on.

        Raises
        ------
        ValueError
            If a file is missing or damaged; the message names it.
        """
        directory = Path(directory)
        nodes, rows = _read_meta(directory / _META)
        lengths = (nodes, nodes + 1, nodes + 1, rows)
        arrays = [
            _map(directory / f"{name}.npy", length)
            for name, length in zip(_NAMES, lengths, strict=True)
        ]
        for name, problem in _problems(*arrays):
            raise ValueError(f"{directory / name}.npy: {problem}")
        return cls(*arrays)


def _narrow(values: Ints) -> _Unsigned:
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _offsets(owners: Ints, nodes: int) -> Ints:
    """Return where the items of each node begin, and their number: ``nodes + 1`` offsets."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=nodes))])


def _read_meta(path: Path) -> tuple[int, int]:
    try:
        meta = json.loads(path.read_bytes())
        version, nodes, rows = meta["version"], meta["nodes"], meta["rows"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: not the description of a trie ({error})") from error
    if version != _VERSION:
        raise ValueError(f"{path}: format version {version!r}, this program reads {_VERSION}")
    if type(nodes) is not int or type(rows) is not int or nodes < 1 or rows < 0:
        raise ValueError(f"{path}: impossible counts, {nodes!r} nodes and {rows!r} rows")
    return nodes, rows


def _map(path: Path, length: int) -> _Unsigned:
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a damaged header makes numpy raise errors of many kinds
        raise ValueError(f"{path}: not a readable array ({error})") from error
    if mapped.dtype not in _TYPES or mapped.shape != (length,):
        raise ValueError(
            f"{path}: {mapped.dtype} array of shape {mapped.shape}, expected {length} unsigned"
        )
    # A plain view of the map: the memmap class makes every slice several times slower.
    return np.asarray(mapped)


def _problems(
    tokens: _Unsigned, children: _Unsigned, ends: _Unsigned, rows: _Unsigned
) -> Iterable[tuple[str, str]]:
    """Yield the name of each array that breaks an invariant, and which."""
    nodes = tokens.size
    # Comparisons, no differences: those of unsigned numbers wrap around.
    if children[0] != 1 or children[-1] != nodes or np.any(children[1:] < children[:-1]):
        yield "children", "the offsets do not ascend from 1 to the number of nodes"
    elif np.any(children[:-1] <= np.arange(nodes)):
        yield "children", "a node comes before its parent"
    elif ends[0] != 0 or ends[-1] != rows.size or np.any(ends[1:] < ends[:-1]):
        yield "ends", "the offsets do not ascend from 0 to the number of rows"
    elif nodes > 1 and np.any((children[1:] == children[:-1]) & (ends[1:] == ends[:-1])):
        yield "ends", "a leaf ends no row"
    elif int(tokens.max()) > _MAX_TOKEN:
        yield "tokens", "a token id is too large"
    elif np.any((tokens[1:] <= tokens[:-1]) & ~_begins(children, nodes)[1:]):
        yield "tokens", "the children of a node do not ascend"
    elif rows.size and (rows.max() >= rows.size or np.any(np.bincount(rows) != 1)):
        yield "rows", "not every row occurs exactly once"
    elif np.any((rows[1:] <= rows[:-1]) & ~_begins(ends, rows.size)[1:]):
        yield "rows", "the rows of a node do not ascend"


def _begins(offsets: _Unsigned, size: int) -> npt.NDArray[np.bool_]:
    """Return which of `size` items is the first one of its node."""
    first = np.zeros(size + 1, dtype=bool)
    first[offsets] = True
    return first[:size]
