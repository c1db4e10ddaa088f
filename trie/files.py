"""The files of a token trie: plain arrays that are mapped, and checked whenever they are opened.

Checksums find what chance has done to a file. Whoever changes one on purpose can mend the
checksums too, so everything that reading relies on is checked besides: with sound counts of bits,
no number that is read can lead out of the arrays or around in a circle.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trie.bits import Bits, Numbers, Unsigned, from_words, to_words
from trie.build import MAX_TOKEN, TrieArrays

VERSION = 2
_META = "meta.json"
_TYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_WORDS = (np.dtype(np.uint64),)


def checksums(arrays: TrieArrays) -> dict[str, int]:
    """Return the CRC-32 of each array's bytes."""
    return {name: zlib.crc32(array.reshape(-1).data) for name, array in arrays.plain().items()}


def write(arrays: TrieArrays, directory: Path) -> None:
    """Write the files into an existing directory."""
    for name, array in arrays.plain().items():
        np.save(directory / f"{name}.npy", array, allow_pickle=False)
    meta = {
        "version": VERSION,
        "nodes": arrays.tokens.size,
        "rows": arrays.rows.low.size,
        "crc32": checksums(arrays),
    }
    (directory / _META).write_text(json.dumps(meta) + "\n", encoding="utf-8")


def open_arrays(directory: Path) -> TrieArrays:
    """Map the files into memory and check them.

    Raises
    ------
    ValueError
        If a file is missing or damaged; the message names it.
    """
    nodes, rows, sums = _read_meta(directory / _META)
    kind, high = Numbers.shape(rows)
    words = (nodes + 63 >> 6,)
    tokens = _map(directory, "tokens", _TYPES, (nodes,))
    firsts = _map_bits(directory, "firsts", words, nodes)
    inner = _map_bits(directory, "inner", words, nodes)
    ends = _map_bits(directory, "ends", (inner.total + 63 >> 6,), inner.total)
    # Every leaf ends a sequence, but for the root of a trie without any.
    ending = nodes - inner.total + ends.total if rows or nodes > 1 else 0
    if ending > rows:
        raise ValueError(f"{directory / 'ends'}.npy: {ending} nodes end {rows} sequences")
    arrays = TrieArrays(
        tokens=tokens,
        firsts=firsts,
        inner=inner,
        ends=ends,
        rows=Numbers(
            _map(directory, "rows", (kind,), (rows,)), _map(directory, "rows_high", _WORDS, high)
        ),
        shared=_map(directory, "shared", _TYPES, (rows - ending,)),
    )
    for name, found in checksums(arrays).items():
        if found != sums.get(name):
            raise ValueError(f"{directory / name}.npy: damaged, its checksum is another")
    for name, problem in _problems(arrays, ending):
        raise ValueError(f"{directory / name}.npy: {problem}")
    return arrays


def _read_meta(path: Path) -> tuple[int, int, dict[str, int]]:
    try:
        meta = json.loads(path.read_bytes())
        version, nodes, rows, sums = (meta[key] for key in ("version", "nodes", "rows", "crc32"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, KeyError) and meta.get("version") == 1:
            raise ValueError(f"{path}: written by an older version; build the trie again") from None
        raise ValueError(f"{path}: not the description of a trie ({error})") from error
    if version != VERSION:
        raise ValueError(f"{path}: format version {version!r}, this program reads {VERSION}")
    if type(nodes) is not int or type(rows) is not int or nodes < 1 or rows < 0:
        raise ValueError(f"{path}: impossible counts, {nodes!r} nodes and {rows!r} rows")
    if type(sums) is not dict:
        raise ValueError(f"{path}: there are no checksums")
    return nodes, rows, sums


def _map(
    directory: Path, name: str, types: tuple[np.dtype[Any], ...], shape: tuple[int, ...]
) -> Unsigned:
    path = directory / f"{name}.npy"
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a damaged header makes numpy raise errors of many kinds
        raise ValueError(f"{path}: not a readable array ({error})") from error
    if mapped.dtype not in types or mapped.shape != shape or not mapped.flags.c_contiguous:
        raise ValueError(
            f"{path}: {mapped.dtype} array of shape {mapped.shape}, "
            f"expected {' or '.join(map(str, types))} of shape {shape}"
        )
    # A plain view of the map: the memmap class makes every slice several times slower.
    return np.asarray(mapped)


def _map_bits(directory: Path, name: str, words: tuple[int], size: int) -> Bits:
    bits = Bits(_map(directory, name, _WORDS, words), size)
    if size & 63 and int(bits.words[-1]) >> (size & 63):
        raise ValueError(f"{directory / name}.npy: bits are set beyond the last one")
    return bits


def _problems(arrays: TrieArrays, ending: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each array that breaks an invariant, and which; the first one counts."""
    tokens, firsts, inner, shared = arrays.tokens, arrays.firsts, arrays.inner, arrays.shared
    nodes = tokens.size
    if not firsts[0] or (nodes > 1 and not firsts[1]):
        yield "firsts", "the children of the root do not begin behind it"
    if firsts.total != inner.total + 1:
        yield "firsts", f"{firsts.total - 1} nodes are first children, {inner.total} have children"
    if not _ordered(firsts, inner):
        yield "inner", "a node comes before its parent"
    if tokens.itemsize > 2 and int(tokens.max()) > MAX_TOKEN:
        yield "tokens", "a token id is too large"
    falls = np.zeros(nodes, dtype=bool)
    np.less_equal(tokens[1:], tokens[:-1], out=falls[1:])
    if np.any(to_words(falls) & ~firsts.words):
        yield "tokens", "the children of a node do not ascend"
    rows = arrays.rows.values()
    seen = np.zeros(rows.size, dtype=bool)
    if rows.size:
        if int(rows.max()) < rows.size:
            seen[rows] = True
        if not seen.all():
            yield "rows", "not every row occurs exactly once"
    if shared.size:
        if int(shared[-1]) >= ending or np.any(shared[1:] < shared[:-1]):
            yield "shared", "the nodes of several rows do not ascend"
        places = shared.astype(np.int64) + 1 + np.arange(shared.size)
        if np.any(rows[places] <= rows[places - 1]):
            yield "rows", "the rows of a node do not ascend"


def _ordered(firsts: Bits, inner: Bits) -> bool:
    """Return whether each first child comes behind its parent.

    The first child with ``k`` first children and the root before it belongs to the node with
    ``k - 1`` parents before it. So, in front of each first child at least as many nodes with
    children have to lie as first children up to it. Where that holds for a whole word by its counts
    alone, which is nearly everywhere in a large trie, its bits need no look.
    """
    doubtful = np.flatnonzero(inner.before[:-1].astype(np.int64) < firsts.before[1:] - np.int64(1))
    if not doubtful.size:
        return True
    starts = from_words(firsts.words[doubtful], doubtful.size * 64).reshape(-1, 64)
    parents = from_words(inner.words[doubtful], doubtful.size * 64).reshape(-1, 64)
    begun = np.cumsum(starts, axis=1) + firsts.before[doubtful, None] - 1
    known = np.cumsum(parents, axis=1) - parents + inner.before[doubtful, None]
    return bool(np.all((known >= begun) | ~starts))
