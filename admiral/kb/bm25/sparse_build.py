"""Building the bm25s backend's index; `sparse` says what lies where, and searches it."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.bm25.settings import FIELDS, K1, B, clean
from admiral.kb.bm25.sparse import load_analysis, missing
from admiral.kb.bm25.sparse_merge import Merger
from admiral.kb.bm25.sparse_parts import LENGTHS, VOCABULARY


def check_available() -> None:
    """Raise `AdmiralError`, naming the remedy, unless everything that a build needs is there."""
    load_analysis()
    load_library()


def load_library() -> Any:
    """Return bm25s, or raise `AdmiralError`; importing it imports numba if it is there."""
    try:
        import bm25s
    except ImportError as error:
        raise missing(error) from error
    # It asks for the lowest level itself, and would tell of every index that is built.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


class _Field:
    """The terms of one field of all documents while the index is built: four bytes a term."""

    def __init__(self) -> None:
        self.terms = array("i")
        self.ends = array("q")
        self.rows = array("i")

    def add(self, row: int, columns: Iterable[int]) -> None:
        """Append one document; one without terms is left out."""
        before = len(self.terms)
        self.terms.extend(columns)
        if len(self.terms) > before:
            self.ends.append(len(self.terms))
            self.rows.append(row)

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[array[int]]:
        start = 0
        for end in self.ends:
            yield self.terms[start:end]
            start = end

    def lengths(self, documents: int) -> np.ndarray:
        """Return the number of terms of each of so many documents, int32."""
        lengths = np.zeros(documents, dtype=np.int32)
        rows = np.frombuffer(self.rows, dtype=np.int32)
        lengths[rows] = np.diff(np.frombuffer(self.ends, dtype=np.int64), prepend=0)
        return lengths

    def renumber(self, columns: np.ndarray) -> None:
        """Replace every term number by ``columns[number]``."""
        terms = np.frombuffer(self.terms, dtype=np.int32)
        terms[:] = columns[terms]


def build(documents: Iterable[tuple[str, str]], directory: Path) -> int:
    """Index (title, text) pairs into the new folder `directory`; return how many there were.

    Takes four bytes for each term of the corpus, and some 40 for each posting of one field.
    """
    terms, library = load_analysis().terms, load_library()
    fields = {name: _Field() for name in FIELDS}
    numbers: dict[str, int] = {}
    count = 0
    for count, document in enumerate(documents, start=1):
        for field, text in zip(fields.values(), document, strict=True):
            found = (numbers.setdefault(term, len(numbers)) for term in terms(clean(text)))
            field.add(count - 1, found)
    vocabulary = marisa_trie.Trie(numbers)
    columns = np.fromiter((vocabulary[term] for term in numbers), np.int32, len(numbers))
    try:
        # Its own `save` does not say what failed.
        (directory / VOCABULARY).write_bytes(vocabulary.tobytes())
        for name, field in fields.items():
            field.renumber(columns)
            _save(library, field, len(columns), count, directory / name)
    except OSError as error:
        raise _unwritable(directory, error) from error
    return count


def _save(library: Any, field: _Field, columns: int, rows: int, directory: Path) -> None:
    """Write the index of one field in the library's format; none for a field without terms."""
    if not len(field):  # the mean length of no documents is not a number
        return
    index = _new(library)
    scores = index.build_index_from_ids(range(columns), field, show_progress=False)
    # The library counted the documents that have terms; from here on it is all rows.
    scores["indices"] = np.frombuffer(field.rows, dtype=np.int32)[scores["indices"]]
    _write(index, scores, field.lengths(rows), directory)


def merge(parts: Sequence[Path], directory: Path) -> int:
    """Write the index of all documents of several, in order; return how many there are.

    Takes eight bytes for each posting of one field, and some 60 for each of one part.
    """
    library, merger = load_library(), Merger(parts)
    try:
        merger.vocabulary.save(str(directory / VOCABULARY))
        for name in FIELDS:
            if merged := merger.field(name):
                scores, lengths = merged
                _write(_new(library), scores, lengths, directory / name)
    except OSError as error:
        raise _unwritable(directory, error) from error
    return merger.documents


def _new(library: Any) -> Any:
    return library.BM25(k1=K1, b=B, method="lucene", backend="numpy")


def _write(index: Any, scores: dict[str, Any], lengths: np.ndarray, directory: Path) -> None:
    scores["num_docs"] = len(lengths)
    index.scores, index.nonoccurrence_array, index.vocab_dict = scores, None, {}
    index.save(directory, show_progress=False)
    np.save(directory / LENGTHS, lengths, allow_pickle=False)


def _unwritable(directory: Path, error: OSError) -> AdmiralError:
    return AdmiralError(
        f"{directory}: the BM25 index cannot be written ({error}). "
        "Check the free space and the permissions."
    )
