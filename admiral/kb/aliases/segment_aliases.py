"""Look up aliases in all segments of a knowledge base, without ambiguous names and common words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from admiral.kb.aliases.alias_index import AliasIndex

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

    Parameters
    ----------
    segments
        The segments, in the order of rows.
    is_live
        Returns whether the document of a row is neither removed nor hidden.
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

        Parameters
        ----------
        text
            A text without lone surrogates.
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
