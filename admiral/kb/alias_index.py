"""Look up the documents of an alias: a marisa trie, and the rows of each alias in one array.

``aliases/names.marisa`` numbers the aliases of a segment. The rows of alias `n` are
``rows[starts[n]:starts[n + 1]]``. All owners of an alias are stored, also where they are many,
because documents can be removed later. All files are memory-mapped.

An alias that names many documents, or is an ordinary word, is left out of the answers. "sort" and
"time" are names of commands, but nearly always mean something else: the documents that contain a
word are counted in a sample, evenly spaced, so that neither time nor memory grows with large
corpora; words that few of them contain are not stored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import marisa_trie
import numpy as np

from admiral.kb.document_aliases import LONGEST_ALIAS, document_aliases
from admiral.records import Document
from admiral.storage.checksums import damaged_error
from trie.token_trie import open_array

_WORDS, _DOCUMENTS = "words.marisa", "word-documents.npy"
_SAMPLE = 16_384  # documents
_LONGEST_TEXT = 20_000  # characters of a document that are read
# The share of documents below which a word is not stored.
_SMALLEST_SHARE = 1 / 512
_WORD = re.compile(r"\w+(?:[-.&]\w+)*")


class WordCounter:
    """Count words while documents are indexed.

    `documents` will be added in all.
    """

    def __init__(self, documents: int) -> None:
        self._step = -(-documents // _SAMPLE) or 1
        self._counts: Counter[str] = Counter()
        self._read = 0

    def add(self, row: int, document: Document) -> None:
        """Count the words of a document, if its row is in the sample."""
        if row % self._step == 0:
            text = " ".join(document.sentences)[:_LONGEST_TEXT]
            self._counts.update(set(_WORD.findall(text)))
            self._read += 1

    def write(self, folder: Path) -> None:
        """Write the estimated numbers of documents into a folder."""
        least = max(2, self._read * _SMALLEST_SHARE)
        common = {word: n * self._step for word, n in self._counts.items() if n >= least}
        trie = marisa_trie.Trie(common, order=marisa_trie.LABEL_ORDER)
        counts = [common[trie.restore_key(key)] for key in range(len(trie))]
        (folder / _WORDS).write_bytes(trie.tobytes())
        np.save(folder / _DOCUMENTS, np.array(counts, dtype=np.uint32), allow_pickle=False)


class WordCounts:
    """Numbers of documents that contain a word, memory-mapped.

    `WordCounter` wrote in `folder`. Raises RuntimeError or OSError or ValueError if the files
    cannot be read or do not fit together.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _DOCUMENTS
        self._words = marisa_trie.Trie().mmap(str(folder / _WORDS))
        self._documents = np.asarray(open_array(self._path))
        if self._documents.shape != (len(self._words),) or self._documents.dtype != np.uint32:
            raise ValueError(f"{_DOCUMENTS} does not fit")

    def documents(self, word: str) -> int:
        """Return the estimated number of documents that contain a word; 0 if they are few."""
        key = self._words.get(word)
        return 0 if key is None else int(self._documents[key])

    def problem(self, documents: int) -> str:
        """Return what is wrong with the counts, given the number of documents; "" if nothing."""
        # The last document of the sample stands for as many as the others, even if fewer follow.
        most = documents + -(-documents // _SAMPLE)
        if not ((self._documents >= 1) & (self._documents <= most)).all():
            return f"{self._path}: not numbers of documents"
        return ""


FOLDER = "aliases"
_NAMES, _STARTS, _ROWS = "names.marisa", "starts.npy", "rows.npy"
# Number of words of texts of which it is kept in memory whether they begin an alias.
_CACHED_WORDS = 2**17
_WORD_CHARACTER = re.compile(r"\w")


def write_aliases(directory: Path, documents: Iterable[Document], count: int) -> None:
    """Write the aliases of documents, and how many documents contain each common word.

    `directory`: directory of the documents; the folder ``aliases`` is created in it.
    """
    owners: dict[str, list[int]] = {}
    words = WordCounter(count)
    for row, document in enumerate(documents):
        for name in document_aliases(document):
            owners.setdefault(name, []).append(row)
        words.add(row, document)
    folder = directory / FOLDER
    folder.mkdir()
    trie = marisa_trie.Trie(owners, order=marisa_trie.LABEL_ORDER)
    rows = [owners[trie.restore_key(key)] for key in range(len(trie))]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    (folder / _NAMES).write_bytes(trie.tobytes())
    np.save(folder / _STARTS, starts, allow_pickle=False)
    np.save(folder / _ROWS, np.fromiter(chain(*rows), np.uint32), allow_pickle=False)
    words.write(folder)


class AliasIndex:
    """Aliases of a directory, and the words that are common in its documents.

    `write_aliases` wrote in `directory`. `begins_with`: returns whether the first word of an alias
    is a text of word characters. Raises AdmiralError if the files cannot be read or do not fit
    together.
    """

    def __init__(self, directory: Path) -> None:
        self._folder = directory / FOLDER
        try:
            self._names = marisa_trie.Trie().mmap(str(self._folder / _NAMES))
            self._starts = np.asarray(open_array(self._folder / _STARTS))
            self._rows = np.asarray(open_array(self._folder / _ROWS))
            self.words = WordCounts(self._folder)
            self.begins_with = lru_cache(_CACHED_WORDS)(partial(_begins_with, self._names))
        except (RuntimeError, OSError, ValueError) as error:
            raise damaged_error(self._folder, error) from error
        if (
            self._starts.shape != (len(self._names) + 1,)
            or self._starts.dtype != np.dtype(np.int64)
            or self._rows.dtype != np.dtype(np.uint32)
            or self._rows.shape != (self._starts[-1],)
        ):
            raise damaged_error(self._folder, "its files do not fit together")

    def __len__(self) -> int:
        return len(self._names)

    def names(self) -> Iterator[str]:
        """Yield all aliases."""
        yield from self._names.iterkeys()

    def beginnings(self, text: str) -> list[str]:
        """Return the aliases that a text begins with, shortest first.

        Lone surrogates are not allowed.
        """
        return list(self._names.prefixes(text[:LONGEST_ALIAS]))

    def rows(self, alias: str) -> list[int]:
        """Return the rows of the documents that have an alias, ascending."""
        key = self._names.get(alias)
        if key is None:
            return []
        owners: list[int] = self._rows[self._starts[key] : self._starts[key + 1]].tolist()
        return owners

    def problem(self, documents: int) -> str:
        """Return what is wrong with the arrays, given the number of documents; "" if nothing."""
        starts, rows = self._starts, self._rows.astype(np.int64)
        if starts[0] != 0 or (np.diff(starts) <= 0).any():
            return f"{self._folder / _STARTS}: not ascending from 0"
        first = np.zeros(len(rows), dtype=bool)
        first[starts[:-1]] = True
        ascending = np.diff(rows, prepend=-1) > 0
        if not (ascending | first).all() or (len(rows) and rows.max() >= documents):
            return f"{self._folder / _ROWS}: not rows of the documents in ascending order"
        return self.words.problem(documents)


def _begins_with(names: marisa_trie.Trie, word: str) -> bool:
    return any(not _WORD_CHARACTER.match(name, len(word)) for name in names.iterkeys(word))


# An alias of more documents names none of them.
_MOST_OWNERS = 3
# A word that more documents contain, and a larger share of them, is no name.
_MOST_DOCUMENTS = 10
_LARGEST_SHARE = 0.02


class SegmentIndex(NamedTuple):
    """The aliases of a segment, its first row and its number of documents."""

    aliases: AliasIndex
    first: int
    documents: int


class SegmentAliases:
    """Aliases of all segments that have them; those built before 0.2.0 have none.

    Whether a name is ambiguous depends on the documents of all segments that are not removed. The
    numbers of documents that contain a word include removed ones until they are compacted.
    `is_live`: returns whether the document of a row is neither removed nor hidden.
    """

    def __init__(self, segments: Sequence[SegmentIndex], is_live: Callable[[int], bool]) -> None:
        self._segments, self._is_live = segments, is_live
        documents = sum(segment.documents for segment in segments)
        self._most_documents = max(_MOST_DOCUMENTS, documents * _LARGEST_SHARE)

    def begin_with(self, word: str) -> bool:
        """Return whether `word` is the first word of an alias, also of one that is no name."""
        return any(segment.aliases.begins_with(word) for segment in self._segments)

    def beginnings(self, text: str) -> list[tuple[str, list[int]]]:
        """Return the aliases that a text begins with, longest first, with the rows that they name.

        Lone surrogates are not allowed.
        """
        names = {name for segment in self._segments for name in segment.aliases.beginnings(text)}
        if not names:  # as for most texts
            return []
        found = ((name, self.rows(name)) for name in sorted(names, key=len, reverse=True))
        return [(name, rows) for name, rows in found if rows]

    def rows(self, name: str) -> list[int]:
        """Return the rows of the documents that an alias names, ascending; [] if it is no name."""
        rows = [
            segment.first + row
            for segment in self._segments
            for row in segment.aliases.rows(name)
            if self._is_live(segment.first + row)
        ]
        return [] if len(rows) > _MOST_OWNERS or self._is_common(name) else rows

    def common(self) -> set[str]:
        """Return the aliases that are no names because they are common words."""
        names = (name for segment in self._segments for name in segment.aliases.names())
        return {name for name in names if self._is_common(name)}

    def _is_common(self, name: str) -> bool:
        """Return whether many documents contain a word; "Sort" is as common as "sort"."""
        spellings = {name, name.lower()} if name[1:].islower() else {name}
        return any(
            sum(segment.aliases.words.documents(word) for segment in self._segments)
            > self._most_documents
            for word in spellings
        )
