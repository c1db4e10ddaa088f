"""The file of a trie's changes: two lines of JSON, with the checksum of the second in the first."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from trie.atomic_file import replacing
from trie.index.trie_build import MAX_TOKEN

_FORMAT, _VERSION = "changes of a token trie", 1


@dataclass(frozen=True, slots=True)
class TrieChanges:
    """Sequences removed from a trie and added to it.

    Attributes
    ----------
    base
        The digest of the trie that was changed.
    next_row
        The row of the next sequence to be added.
    removed
        Removed rows of the base, ascending.
    added
        Added sequences by row, ascending; rows lie between the base's size and `next_row`.
    """

    base: str
    next_row: int
    removed: Sequence[int]
    added: dict[int, tuple[int, ...]]


def write_changes(path: Path, changes: TrieChanges) -> None:
    """Write the file; an older one is replaced atomically."""
    body = json.dumps(
        {
            "base": changes.base,
            "next_row": changes.next_row,
            "removed": list(changes.removed),
            "added": list(changes.added),
            "sequences": list(changes.added.values()),
        },
        separators=(",", ":"),
    ).encode()
    head = json.dumps({"format": _FORMAT, "version": _VERSION, "crc32": zlib.crc32(body)}).encode()
    with replacing(path) as file:
        file.write(head + b"\n" + body + b"\n")


def read_changes(path: Path, base: str, rows: int) -> TrieChanges:
    """Read and check the changes of the trie with digest `base` and `rows` sequences.

    Raises
    ------
    ValueError
        If the file is missing or damaged, or holds the changes of another trie.
    """
    try:
        head, body, *rest = path.read_bytes().split(b"\n")
        header = json.loads(head)
        if header["format"] != _FORMAT or header["version"] != _VERSION:
            raise ValueError(f"format {header['format']!r}, version {header['version']!r}")
        if rest != [b""] or header["crc32"] != zlib.crc32(body):
            raise ValueError("the checksum differs")
        changes = json.loads(body)
        problem = _problem(changes, rows)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: not the changes of a trie, or damaged ({error})") from error
    if problem:
        raise ValueError(f"{path}: {problem}")
    if changes["base"] != base:
        raise ValueError(f"{path}: the changes of another trie")
    sequences = map(tuple, changes["sequences"])
    added = dict(zip(changes["added"], sequences, strict=True))
    return TrieChanges(base, changes["next_row"], changes["removed"], added)


def _problem(changes: Mapping[str, Any], rows: int) -> str:
    """Return what is wrong with the changes of a trie of `rows` sequences, or an empty string."""
    next_row, sequences = changes["next_row"], changes["sequences"]
    if type(next_row) is not int or next_row < rows:
        return f"the next row is {next_row!r}, but the trie has {rows} rows"
    if not _ascending(changes["removed"], 0, rows):
        return "the removed rows are not ascending rows of the trie"
    if not _ascending(changes["added"], rows, next_row):
        return "the added rows do not ascend from the trie's size to the next row"
    if type(sequences) is not list or len(sequences) != len(changes["added"]):
        return "the number of sequences differs from the number of added rows"
    for sequence in sequences:
        if type(sequence) is not list or not all(
            type(token) is int and 0 <= token <= MAX_TOKEN for token in sequence
        ):
            return f"not a list of token ids: {sequence!r:.80}"
    return ""


def _ascending(values: Any, low: int, high: int) -> bool:
    """Return whether `values` is a list of strictly ascending integers in ``[low, high)``."""
    if type(values) is not list or not all(type(value) is int for value in values):
        return False
    in_range = all(low <= value < high for value in values)
    return in_range and all(a < b for a, b in pairwise(values))
