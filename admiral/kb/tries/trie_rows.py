"""Rows of a token trie and rows of the contents that it was built from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from admiral.kb.store.contents import Contents
    from trie import TokenTrie, Trie


class Layout:
    """How the rows of a trie are those of the contents.

    The trie that is kept has the rows of all bases, one after the other. Those of the deltas come
    behind them, so that a delta may change without another trie of the bases.

    Parameters
    ----------
    contents
        What is there.
    encode
        Gives the tokens of titles.
    """

    def __init__(
        self, contents: Contents, encode: Callable[[Iterator[str]], Iterator[list[int]]]
    ) -> None:
        self._contents, self._encode = contents, encode
        parts = list(zip(contents.parts, contents.stores, strict=True))
        self._bases = [(part, store) for part, store in parts if part.is_base]
        self._deltas = [(part, store) for part, store in parts if not part.is_base]

    def base_titles(self) -> Iterator[str]:
        """Yield the titles of all bases, also of rows that were removed since."""
        return chain.from_iterable(store.titles() for _, store in self._bases)

    def updated(self, trie: TokenTrie) -> Trie:
        """Return the trie of what is there, given that of the bases."""
        from trie import Renumbered, UpdatedTrie

        removed = self._removed()
        found: Trie = trie
        if removed or self._deltas:
            changed = UpdatedTrie(trie)
            if removed:
                changed = changed.remove(removed)
            if self._deltas:
                titles = chain.from_iterable(store.titles() for _, store in self._deltas)
                changed = changed.add(self._encode(titles))
            found = changed
        parts = [part for part, _ in (*self._bases, *self._deltas)]
        starts = np.cumsum([0, *(part.documents for part in parts[:-1])])
        numbers = np.array([part.first for part in parts])
        if np.array_equal(starts, numbers) and not self._contents.hidden.size:
            return found
        return Renumbered(found, starts, numbers, self._contents.hidden)

    def _removed(self) -> list[int]:
        """Return the rows of the trie that are not there; those that are hidden are."""
        gone = np.setdiff1d(self._contents.removed, self._contents.hidden, assume_unique=True)
        rows, start = [], 0
        for part, _ in self._bases:
            low, high = gone.searchsorted([part.first, part.first + part.documents])
            rows += (gone[low:high] - part.first + start).tolist()
            start += part.documents
        return rows
