"""The files of a token trie: plain ``.npy`` arrays that are memory-mapped, and ``meta.json``.

Opening checks headers and the tree structure, which takes milliseconds for millions of nodes.
Tokens and rows are checked when they are first read; `trie.index.invariants` explains why that is
enough.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trie.index.bit_vector import BitVector, PackedIntegers, Unsigned
from trie.index.block_checks import (
    BLOCK_SIZE,
    BlockChecks,
    Checksums,
    block_checksums,
    block_count,
)
from trie.index.invariants import structure_problems
from trie.index.npy_files import open_array
from trie.index.trie_build import TrieArrays
from trie.trie_errors import TrieFileError

VERSION = 3
_META = "meta.json"
_CHECKSUMS = "sums"
_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_WORDS = (np.dtype(np.uint64),)


def file_checksums(arrays: TrieArrays, checksums: Checksums) -> dict[str, int]:
    """Return the CRC-32 of each array that is read on opening.

    These are the arrays of the structure and the block checksums, which cover all other arrays.
    """
    eager = {
        "firsts": arrays.firsts.words,
        "inner": arrays.inner.words,
        "ends": arrays.ends.words,
        "shared": arrays.shared,
        _CHECKSUMS: checksums,
    }
    return {name: zlib.crc32(array.data) for name, array in eager.items()}


def write_arrays(arrays: TrieArrays, directory: Path, block: int = BLOCK_SIZE) -> None:
    """Write the files into an existing directory, with checksums of blocks of `block` items."""
    checksums = block_checksums(arrays, block)
    for name, array in {**arrays.by_file_name(), _CHECKSUMS: checksums}.items():
        np.save(directory / f"{name}.npy", array, allow_pickle=False)
    meta = {
        "version": VERSION,
        "nodes": arrays.tokens.size,
        "rows": arrays.rows.low.size,
        "block": block,
        "crc32": file_checksums(arrays, checksums),
    }
    (directory / _META).write_text(json.dumps(meta) + "\n", encoding="utf-8")


def open_arrays(directory: Path) -> tuple[TrieArrays, BlockChecks]:
    """Memory-map the files and check the structure.

    Raises
    ------
    TrieFileError
        If a file is missing, or the checks made on opening find damage.
    """
    nodes, rows, block, crc32 = _read_meta(directory / _META)
    dtype, high = PackedIntegers.layout(rows)
    words = (nodes + 63 >> 6,)
    tokens = _map(directory, "tokens", _DTYPES, (nodes,))
    firsts = _map_bits(directory, "firsts", words, nodes)
    inner = _map_bits(directory, "inner", words, nodes)
    ends = _map_bits(directory, "ends", (inner.total + 63 >> 6,), inner.total)
    # Every leaf ends a sequence, except the root of the empty trie.
    ending = nodes - inner.total + ends.total if rows or nodes > 1 else 0
    if ending > rows:
        raise TrieFileError(directory / "ends.npy", f"{ending} nodes end {rows} sequences")
    arrays = TrieArrays(
        tokens=tokens,
        firsts=firsts,
        inner=inner,
        ends=ends,
        rows=PackedIntegers(
            _map(directory, "rows", (dtype,), (rows,)), _map(directory, "rows_high", _WORDS, high)
        ),
        shared=_map(directory, "shared", _DTYPES, (rows - ending,)),
    )
    count = block_count(nodes, rows, block)
    checksums = _map(directory, _CHECKSUMS, (np.dtype(np.uint32),), (count,))
    for name, checksum in file_checksums(arrays, checksums).items():
        if checksum != crc32.get(name):
            raise TrieFileError(directory / f"{name}.npy", "damaged: the checksum differs")
    for name, problem in structure_problems(arrays):
        raise TrieFileError(directory / f"{name}.npy", problem)
    return arrays, BlockChecks.for_opened(arrays, checksums, block, directory)


class _Meta(NamedTuple):
    """The contents of ``meta.json``, apart from the version."""

    nodes: int
    rows: int
    block: int
    crc32: dict[str, int]


def _read_meta(path: Path) -> _Meta:
    try:
        fields = json.loads(path.read_bytes())
        version = fields["version"]
        meta = _Meta(*(fields[key] for key in _Meta._fields)) if version == VERSION else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TrieFileError(path, f"not the description of a trie ({error})") from error
    if meta is None:
        raise TrieFileError(
            path,
            f"format version {version!r}, but this program reads {VERSION}; build the trie again",
        )
    for name, minimum in (("nodes", 1), ("rows", 0), ("block", 64)):
        value = fields[name]
        if type(value) is not int or value < minimum:
            raise TrieFileError(path, f"invalid value of {name!r}: {value!r}")
    if meta.block % 64:
        raise TrieFileError(path, f"invalid value of 'block': {meta.block!r}")
    if type(meta.crc32) is not dict:
        raise TrieFileError(path, "the checksums are missing")
    return meta


def _map(
    directory: Path, name: str, dtypes: tuple[np.dtype[Any], ...], shape: tuple[int, ...]
) -> Unsigned:
    path = directory / f"{name}.npy"
    try:
        mapped = open_array(path)
    except (OSError, ValueError) as error:
        raise TrieFileError(path, f"not a readable array ({error})") from error
    if mapped.dtype not in dtypes or mapped.shape != shape:
        raise TrieFileError(
            path,
            f"{mapped.dtype} array of shape {mapped.shape}, "
            f"expected {' or '.join(map(str, dtypes))} of shape {shape}",
        )
    # A plain view: slices of np.memmap are several times slower.
    return np.asarray(mapped)


def _map_bits(directory: Path, name: str, words: tuple[int], size: int) -> BitVector:
    bits = BitVector(_map(directory, name, _WORDS, words), size)
    if size & 63 and int(bits.words[-1]) >> (size & 63):
        raise TrieFileError(directory / f"{name}.npy", "bits are set after the last one")
    return bits
