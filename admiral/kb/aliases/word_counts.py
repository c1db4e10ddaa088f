"""Count the documents that contain a word, to tell names from ordinary words.

"sort" and "time" are names of commands, but nearly always mean something else. Counts come from a
sample of documents, evenly spaced, so that neither time nor memory grows with large corpora; words
that few of them contain are not stored.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import marisa_trie
import numpy as np

from admiral.records import Document
from trie.npy_files import open_array

_WORDS, _DOCUMENTS = "words.marisa", "word-documents.npy"
_SAMPLE = 16_384  # documents
_LONGEST_TEXT = 20_000  # characters of a document that are read
# The share of documents below which a word is not stored.
_SMALLEST_SHARE = 1 / 512
_WORD = re.compile(r"\w+(?:[-.&]\w+)*")


class WordCounter:
    """Count words while documents are indexed.

    Parameters
    ----------
    documents
        Number of documents that will be added.
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

    Parameters
    ----------
    folder
        Folder in which `WordCounter` wrote.

    Raises
    ------
    RuntimeError, OSError, ValueError
        If the files cannot be read or do not fit together.
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
