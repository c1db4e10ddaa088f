"""The files of a token trie: plain arrays that are mapped.

When they are opened, headers and the shape are checked, which takes milliseconds for millions of
nodes; tokens and rows are checked where they are first read (`trie.index.soundness` says why that
will do).
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trie.index.arrays import open_array
from trie.index.bits import Bits, Numbers, Unsigned
from trie.index.blocks import BLOCK, Checks, Sums, block_count, block_sums
from trie.index.soundness import shape_problems
from trie.index.trie_build import TrieArrays
from trie.trie_errors import TrieFileError

VERSION = 3
_META = "meta.json"
_SUMS = "sums"
_TYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_WORDS = (np.dtype(np.uint64),)


def checksums(arrays: TrieArrays, sums: Sums) -> dict[str, int]:
    """Return the CRC-32 of each array that is read on opening; that of `sums` is for the others."""
    shape = {"firsts": arrays.firsts.words, "inner": arrays.inner.words, "ends": arrays.ends.words}
    plain = {**shape, "shared": arrays.shared, _SUMS: sums}
    return {name: zlib.crc32(array.data) for name, array in plain.items()}


def write(arrays: TrieArrays, directory: Path, block: int = BLOCK) -> None:
    """Write the files into an existing directory; a block for checking is of so many nodes."""
    sums = block_sums(arrays, block)
    for name, array in {**arrays.plain(), _SUMS: sums}.items():
        np.save(directory / f"{name}.npy", array, allow_pickle=False)
    meta = {
        "version": VERSION,
        "nodes": arrays.tokens.size,
        "rows": arrays.rows.low.size,
        "block": block,
        "crc32": checksums(arrays, sums),
    }
    (directory / _META).write_text(json.dumps(meta) + "\n", encoding="utf-8")


def open_arrays(directory: Path) -> tuple[TrieArrays, Checks]:
    """Map the files into memory and check their shape.

    Raises
    ------
    TrieFileError
        If a file is missing, or found damaged so far.
    """
    nodes, rows, block, crcs = _read_meta(directory / _META)
    kind, high = Numbers.shape(rows)
    words = (nodes + 63 >> 6,)
    tokens = _map(directory, "tokens", _TYPES, (nodes,))
    firsts = _map_bits(directory, "firsts", words, nodes)
    inner = _map_bits(directory, "inner", words, nodes)
    ends = _map_bits(directory, "ends", (inner.total + 63 >> 6,), inner.total)
    # Every leaf ends a sequence, but for the root of a trie without any.
    ending = nodes - inner.total + ends.total if rows or nodes > 1 else 0
    if ending > rows:
        raise TrieFileError(directory / "ends.npy", f"{ending} nodes end {rows} sequences")
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
    sums = _map(directory, _SUMS, (np.dtype(np.uint32),), (block_count(nodes, rows, block),))
    for name, found in checksums(arrays, sums).items():
        if found != crcs.get(name):
            raise TrieFileError(directory / f"{name}.npy", "damaged, its checksum is another")
    for name, problem in shape_problems(arrays):
        raise TrieFileError(directory / f"{name}.npy", problem)
    return arrays, Checks.opened(arrays, sums, block, directory)


class _Meta(NamedTuple):
    """What the description of a trie says."""

    nodes: int
    rows: int
    block: int
    crc32: dict[str, int]


def _read_meta(path: Path) -> _Meta:
    try:
        meta = json.loads(path.read_bytes())
        version = meta["version"]
        found = _Meta(*(meta[key] for key in _Meta._fields)) if version == VERSION else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TrieFileError(path, f"not the description of a trie ({error})") from error
    if found is None:
        raise TrieFileError(
            path,
            f"format version {version!r}, this program reads {VERSION}; build the trie again",
        )
    for name, least in (("nodes", 1), ("rows", 0), ("block", 64)):
        value = meta[name]
        if type(value) is not int or value < least:
            raise TrieFileError(path, f"impossible value of {name!r}, {value!r}")
    if found.block % 64:
        raise TrieFileError(path, f"impossible value of 'block', {found.block!r}")
    if type(found.crc32) is not dict:
        raise TrieFileError(path, "there are no checksums")
    return found


def _map(
    directory: Path, name: str, types: tuple[np.dtype[Any], ...], shape: tuple[int, ...]
) -> Unsigned:
    path = directory / f"{name}.npy"
    try:
        mapped = open_array(path)
    except (OSError, ValueError) as error:
        raise TrieFileError(path, f"not a readable array ({error})") from error
    if mapped.dtype not in types or mapped.shape != shape:
        raise TrieFileError(
            path,
            f"{mapped.dtype} array of shape {mapped.shape}, "
            f"expected {' or '.join(map(str, types))} of shape {shape}",
        )
    # A plain view of the map: the memmap class makes every slice several times slower.
    return np.asarray(mapped)


def _map_bits(directory: Path, name: str, words: tuple[int], size: int) -> Bits:
    bits = Bits(_map(directory, name, _WORDS, words), size)
    if size & 63 and int(bits.words[-1]) >> (size & 63):
        raise TrieFileError(directory / f"{name}.npy", "bits are set beyond the last one")
    return bits
