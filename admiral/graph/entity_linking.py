"""Link the names in texts to documents of a knowledge base: the entities of the mention graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from admiral.kb import KnowledgeBase
from admiral.retrieval.mentions import find_names

#: Number of documents that an ambiguous name stands for at most.
MAX_READINGS = 4
_CACHED_NAMES = 2**17


@dataclass(frozen=True, slots=True)
class Entity:
    """A document that a text names."""

    row: int
    title: str
    # number of documents that the name stands for, 1 to `MAX_READINGS`; the fewest, if several
    # names stand for the document
    readings: int
    # number of the first name in the text that stands for it, from 0. Entities with the same number
    # are readings of one name.
    name: int


class EntityLinker:
    """Find the documents that texts name by the longest title, without context.

    A name with several possible titles ("Alien") stands for all of them, at most `MAX_READINGS`:
    the exact title first, then titles that add a qualifier. `readings`: number of documents that a
    name stands for at most; 1 for its best reading only.
    """

    def __init__(
        self, kb: KnowledgeBase, *, aliases: bool = True, readings: int = MAX_READINGS
    ) -> None:
        self._names, self._aliases, self._readings = _CachedNames(kb), aliases, readings

    def mentions(self, text: str) -> list[tuple[int, ...]]:
        """Return the rows that each name in a text stands for, from left to right."""
        mentions = find_names(self._names, text, aliases=self._aliases)
        rows = ((self._names.row(t) for t in m.titles[: self._readings]) for m in mentions)
        return [tuple(row for row in each if row is not None) for each in rows]

    def entities(self, text: str) -> list[Entity]:
        """Return the documents that a text names, each once, in the order of their first name."""
        numbers: dict[tuple[int, ...], int] = {}
        entities: dict[int, Entity] = {}
        for rows in self.mentions(text):
            name = numbers.setdefault(rows, len(numbers))
            for row in rows:
                known = entities.get(row)
                if known is None:
                    entities[row] = Entity(row, self._names.title(row), len(rows), name)
                elif len(rows) < known.readings:
                    entities[row] = Entity(row, known.title, len(rows), known.name)
        return list(entities.values())


class _CachedNames:
    """Titles and aliases of a knowledge base; the lookups of frequent names are cached."""

    def __init__(self, kb: KnowledgeBase) -> None:
        def completions(prefix: str) -> tuple[tuple[str, int], ...]:
            return tuple(islice(kb.complete(prefix), MAX_READINGS))

        self.row = lru_cache(_CACHED_NAMES)(kb.row)
        self.title = lru_cache(_CACHED_NAMES)(kb.title)
        self.aliases_beginning = kb.aliases_beginning
        self.has_aliases_with = lru_cache(_CACHED_NAMES)(kb.has_aliases_with)
        self._completions = lru_cache(_CACHED_NAMES)(completions)

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the first titles that begin with `prefix`: more are never readings of a name."""
        return iter(self._completions(prefix))
