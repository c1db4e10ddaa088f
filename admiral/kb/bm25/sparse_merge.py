"""Several bm25s indexes as one: columns joined, and scored with the statistics of all documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt

from admiral.kb.bm25.rescoring import Statistics, occurrences, scores_of
from admiral.kb.bm25.sparse_parts import Part


class Merger:
    """Reads the parts; rows of each follow those of the one before.

    Attributes
    ----------
    documents
        How many there are in all parts.
    vocabulary
        Term to column.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self.documents = 0
        self._parts: list[Part] = []
        for directory in directories:
            self._parts.append(Part(directory, first=self.documents))
            self.documents += self._parts[-1].documents
        self.vocabulary = marisa_trie.Trie(chain.from_iterable(p.terms() for p in self._parts))
        # Of each part, from its columns to those of all.
        self._columns = [
            np.fromiter((self.vocabulary[term] for term in part.terms()), np.int64)
            for part in self._parts
        ]

    def field(self, name: str) -> tuple[dict[str, Any], npt.NDArray[np.int32]] | None:
        """Return the matrix of a field as bm25s keeps it, and the length of each document.

        None if no document has a term in this field.
        """
        having = [
            (part, part.fields[name], columns)
            for part, columns in zip(self._parts, self._columns, strict=True)
            if name in part.fields
        ]
        if not having:
            return None
        lengths = np.zeros(self.documents, dtype=np.int32)
        frequencies = np.zeros(len(self.vocabulary), dtype=np.int64)
        for part, field, columns in having:
            lengths[part.first : part.first + part.documents] = field.lengths
            frequencies[columns] += np.diff(field.indptr)
        ends = np.cumsum(frequencies)
        indptr = np.concatenate(([0], ends)).astype(np.int64)
        now, data = Statistics.of(lengths), np.empty(int(ends[-1]), dtype=np.float32)
        indices = np.empty(len(data), dtype=np.int32)
        idfs, free = now.idfs(frequencies), indptr[:-1].copy()
        for part, field, columns in having:
            there, counts = field.indptr[:-1], np.diff(field.indptr)
            before = Statistics.of(field.lengths)
            # Where each posting goes: behind those of earlier parts in its column.
            places = np.repeat(free[columns] - there, counts) + np.arange(len(field.data))
            long = field.lengths[field.indices]
            old, new = before.idfs(counts), idfs[columns]
            times = occurrences(field.data, long, np.repeat(old, counts), before.mean)
            data[places] = scores_of(times, long, np.repeat(new, counts), now.mean)
            indices[places] = field.indices + part.first
            free[columns] += counts
        return {"data": data, "indices": indices, "indptr": indptr}, lengths
