"""Look up the documents of an alias: a marisa trie, and the rows of each alias in one array.

``aliases/names.marisa`` numbers the aliases of a segment. The rows of alias `n` are
``rows[starts[n]:starts[n + 1]]``. All owners of an alias are stored, also where they are many,
because documents can be removed later. All files are memory-mapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

import marisa_trie
import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.aliases.document_aliases import LONGEST_ALIAS, document_aliases
from admiral.kb.aliases.word_counts import WordCounter, WordCounts
from admiral.records import Document
from trie.npy_files import open_array

FOLDER = "aliases"
_NAMES, _STARTS, _ROWS = "names.marisa", "starts.npy", "rows.npy"
# Number of words of texts of which it is kept in memory whether they begin an alias.
_CACHED_WORDS = 2**17
_WORD_CHARACTER = re.compile(r"\w")


def write_aliases(directory: Path, documents: Iterable[Document], count: int) -> None:
    """Write the aliases of documents, and how many documents contain each common word.

    Parameters
    ----------
    directory
        Directory of the documents; the folder ``aliases`` is created in it.
    documents
        The documents in the order of rows.
    count
        Number of documents.
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

    Parameters
    ----------
    directory
        Directory in which `write_aliases` wrote.

    Attributes
    ----------
    words
        Numbers of documents by word.
    begins_with
        Returns whether the first word of an alias is a text of word characters.

    Raises
    ------
    AdmiralError
        If the files cannot be read or do not fit together.
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
            raise self._damaged(error) from error
        if (
            self._starts.shape != (len(self._names) + 1,)
            or self._starts.dtype != np.dtype(np.int64)
            or self._rows.dtype != np.dtype(np.uint32)
            or self._rows.shape != (self._starts[-1],)
        ):
            raise self._damaged("its files do not fit together")

    def __len__(self) -> int:
        return len(self._names)

    def names(self) -> Iterator[str]:
        """Yield all aliases."""
        yield from self._names.iterkeys()

    def beginnings(self, text: str) -> list[str]:
        """Return the aliases that a text begins with, shortest first.

        Parameters
        ----------
        text
            A text without lone surrogates.
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

    def _damaged(self, reason: object) -> AdmiralError:
        return AdmiralError(
            f"{self._folder}: damaged ({reason}). Run `admiral verify`, then build the knowledge "
            "base again with `admiral index`."
        )


def _begins_with(names: marisa_trie.Trie, word: str) -> bool:
    """Return whether the first word of a name is `word`."""
    return any(not _WORD_CHARACTER.match(name, len(word)) for name in names.iterkeys(word))
