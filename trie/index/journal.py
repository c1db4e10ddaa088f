"""The changes of a trie as a file: two lines of JSON, the checksum of the second in the first."""

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
class Journal:
    """The changes.

    Attributes
    ----------
    base
        The digest of the trie that they belong to.
    next_row
        The row that the next added sequence gets.
    removed
        Rows of the base, ascending.
    added
        Sequences by row, ascending; rows from the base's size to `next_row`.
    """

    base: str
    next_row: int
    removed: Sequence[int]
    added: dict[int, tuple[int, ...]]


def write(path: Path, changes: Journal) -> None:
    """Write the file, in place of an older one, at once: a temporary file is given its name."""
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


def read(path: Path, base: str, rows: int) -> Journal:
    """Read and check the changes of the trie with the digest `base` and so many `rows`.

    Raises
    ------
    ValueError
        If the file is missing, damaged, or holds the changes of another trie.
    """
    try:
        head, body, *rest = path.read_bytes().split(b"\n")
        about = json.loads(head)
        if about["format"] != _FORMAT or about["version"] != _VERSION:
            raise ValueError(f"format {about['format']!r}, version {about['version']!r}")
        if rest != [b""] or about["crc32"] != zlib.crc32(body):
            raise ValueError("the checksum is another")
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
    return Journal(base, changes["next_row"], changes["removed"], added)


def _problem(changes: Mapping[str, Any], rows: int) -> str:
    """Return what is wrong with the changes of a trie of so many rows; nothing, if all is well."""
    next_row, sequences = changes["next_row"], changes["sequences"]
    if type(next_row) is not int or next_row < rows:
        return f"the next row is {next_row!r}, but the trie has {rows}"
    if not _ascend(changes["removed"], 0, rows):
        return "the removed rows do not ascend within the trie"
    if not _ascend(changes["added"], rows, next_row):
        return "the added rows do not ascend from the trie's size to the next row"
    if type(sequences) is not list or len(sequences) != len(changes["added"]):
        return "there is not one sequence for each added row"
    for sequence in sequences:
        if type(sequence) is not list or not all(
            type(token) is int and 0 <= token <= MAX_TOKEN for token in sequence
        ):
            return f"a sequence is no list of tokens: {sequence!r:.80}"
    return ""


def _ascend(values: Any, low: int, high: int) -> bool:
    """Whether `values` is a list of ascending whole numbers from `low` to below `high`."""
    if type(values) is not list or not all(type(value) is int for value in values):
        return False
    between = all(low <= value < high for value in values)
    return between and all(a < b for a, b in pairwise(values))
