"""Look up the row of a title and the title of a row: a marisa trie and two permutations.

The trie numbers the titles in its own order (their keys). ``titles-rows.npy`` maps a key to its
row, ``titles-keys.npy`` a row to its key. All files are memory-mapped. ``titles-forms.marisa``
holds the matching forms of the titles that differ from theirs; knowledge bases of early releases
have none. ``ids.marisa`` has the row of each id, if documents have ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import marisa_trie
import numpy as np

from admiral.io.text_cleaning import matching_form
from admiral.storage.checksums import damaged_error
from trie.token_trie import open_array

TRIE, ROWS, KEYS = "titles.marisa", "titles-rows.npy", "titles-keys.npy"
FORMS, IDS = "titles-forms.marisa", "ids.marisa"
_ROW = "<I"


def write_titles(
    directory: Path, titles: Callable[[], Iterator[str]], ids: Iterable[str] = ()
) -> None:
    """Write the index of distinct titles, and of ids, some of which may be empty.

    `titles` returns an iterator of them in the order of rows, and is called several times.
    """
    # In label order, completions come in alphabetical order without a sort.
    trie = marisa_trie.Trie(titles(), order=marisa_trie.LABEL_ORDER)
    keys = np.fromiter((trie[title] for title in titles()), np.uint32)
    rows = np.empty_like(keys)
    rows[keys] = np.arange(len(keys), dtype=np.uint32)
    (directory / TRIE).write_bytes(trie.tobytes())
    np.save(directory / ROWS, rows, allow_pickle=False)
    np.save(directory / KEYS, keys, allow_pickle=False)
    forms = (
        (form, (row,))
        for row, title in enumerate(titles())
        if (form := matching_form(title)) != title
    )
    trie_of_forms = marisa_trie.RecordTrie(_ROW, forms)
    (directory / FORMS).write_bytes(trie_of_forms.tobytes())
    rows_of_ids = marisa_trie.RecordTrie(_ROW, ((id, (n,)) for n, id in enumerate(ids) if id))
    if len(rows_of_ids):
        (directory / IDS).write_bytes(rows_of_ids.tobytes())


def _record_trie(path: Path) -> marisa_trie.RecordTrie:
    trie = marisa_trie.RecordTrie(_ROW)
    if path.is_file():
        trie.mmap(str(path))
    return trie


class TitleIndex:
    """Titles of a directory by row, and rows by title.

    `write_titles` wrote in `directory`. Raises AdmiralError if the files cannot be read or do not
    fit together.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / TRIE
        try:
            self._trie = marisa_trie.Trie().mmap(str(self._path))
            # Plain views of the maps: reading an element of a memmap takes ten times as long.
            self._rows = np.asarray(open_array(directory / ROWS))
            self._keys = np.asarray(open_array(directory / KEYS))
            self._forms, self._ids = (_record_trie(directory / name) for name in (FORMS, IDS))
        except (RuntimeError, OSError, ValueError) as error:
            raise damaged_error(self._path, error) from error
        shapes = {self._rows.shape, self._keys.shape}
        if shapes != {(len(self._trie),)} or {self._rows.dtype, self._keys.dtype} != {
            np.dtype(np.uint32)
        }:
            raise damaged_error(self._path, "its files do not fit together")

    def __len__(self) -> int:
        return len(self._trie)

    @property
    def permutations(self) -> tuple[np.ndarray, np.ndarray]:
        """Key to row, and row to key: two inverse permutations, uint32, (titles,)."""
        return self._rows, self._keys

    def row(self, title: str) -> int | None:
        """Return the row of a cleaned title, or None."""
        key = self._trie.get(title)
        return None if key is None else int(self._rows[key])

    def row_of_id(self, id: str) -> int | None:
        """Return the row of an id, or None."""
        return next((row for (row,) in self._ids.get(id, [])), None)

    def rows_of_form(self, form: str) -> list[int]:
        """Return the rows of the titles that differ from their matching form, which is `form`."""
        return sorted(row for (row,) in self._forms.get(form, []))

    def complete_form(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that differ from their matching form, which begins with `prefix`."""
        for _, (row,) in self._forms.iteritems(prefix):
            yield self.title(row), row

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        if not 0 <= row < len(self._keys):
            raise IndexError(f"row {row} of {len(self._keys)}")
        try:
            return str(self._trie.restore_key(int(self._keys[row])))
        except (KeyError, OverflowError, UnicodeDecodeError) as error:
            raise damaged_error(self._path, error) from error

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix` and their rows, in code point order."""
        try:
            for title, key in self._trie.iteritems(prefix):
                yield title, int(self._rows[key])
        except UnicodeDecodeError as error:
            raise damaged_error(self._path, error) from error
