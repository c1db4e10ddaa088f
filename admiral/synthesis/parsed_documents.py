"""Documents of a knowledge base, parsed and linked on demand, with a bounded cache."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from admiral.records import Document
from admiral.retrieval.mentions import Titles
from admiral.synthesis.profiles import Profile, Statement, parse_profile, parse_quotable
from admiral.synthesis.slots import Slot, find_slots

# Documents kept in the cache, of a few kilobytes each.
_CACHE_SIZE = 4096
# Documents that a larger share of a sample mentions, such as countries, are described more rarely
# (common) or never (too common). The thresholds have minimum counts for small samples.
_COMMON_SHARE, _TOO_COMMON_SHARE = 0.001, 0.002
_MIN_COMMON, _MIN_TOO_COMMON = 2, 8


class DocumentSource(Titles, Protocol):
    """Interface that synthesis needs of a knowledge base."""

    def rows(self) -> np.ndarray:
        """Return the rows of all documents, (documents,), ascending."""
        ...

    def document_at(self, row: int) -> Document:
        """Return the document of a row."""
        ...


class ParsedCorpus:
    """Cached profiles of documents and of the replaceable mentions in them.

    `quotes_only`: treat the documents as text in any language, which is quoted instead of parsed.
    """

    def __init__(self, kb: DocumentSource, *, quotes_only: bool = False) -> None:
        self.kb, self.quotes_only = kb, quotes_only
        self._rows = kb.rows()
        parse = parse_quotable if quotes_only else parse_profile
        self._mention_counts: Counter[str] = Counter()
        self._common, self._too_common = float(_MIN_COMMON), float(_MIN_TOO_COMMON)
        self._profile = lru_cache(_CACHE_SIZE)(lambda row: parse(kb.document_at(row)))
        self._slots = lru_cache(_CACHE_SIZE)(self._find_slots)

    def __len__(self) -> int:
        return len(self._rows)

    def profile_at(self, number: int) -> Profile:
        """Return the profile of a document by its position in the order of rows."""
        return self._profile(int(self._rows[number]))

    def profile(self, title: str) -> Profile | None:
        """Return the profile of a title; None if there is no such document."""
        row = self.kb.row(title)
        return None if row is None else self._profile(row)

    def slots(self, profile: Profile) -> tuple[tuple[Statement, Slot], ...]:
        """Return the replaceable mentions in the statements of a document, in order of text."""
        row = self.kb.row(profile.title)
        assert row is not None
        return self._slots(row)

    def count_mentions(self, sample: Sequence[Profile]) -> None:
        """Count how often a sample mentions each document, to balance `sample_slots`."""
        for profile in sample:
            self._mention_counts.update({slot.title for _, slot in self.slots(profile)})
        self._common = max(_COMMON_SHARE * len(sample), _MIN_COMMON)
        self._too_common = max(_TOO_COMMON_SHARE * len(sample), _MIN_TOO_COMMON)

    def sample_slots(
        self, profile: Profile, max_slots: int, rng: random.Random
    ) -> list[tuple[Statement, Slot]]:
        """Return random replaceable mentions, fewer of documents that are mentioned often."""
        pairs = [
            pair
            for pair in self.slots(profile)
            if (count := self._mention_counts[pair[1].title]) <= self._too_common
            and rng.random() * count**2 < self._common**2
        ]
        return rng.sample(pairs, min(max_slots, len(pairs)))

    def _find_slots(self, row: int) -> tuple[tuple[Statement, Slot], ...]:
        profile = self._profile(row)
        return tuple(
            (statement, slot)
            for statement in profile.statements
            for slot in find_slots(
                self.kb,
                profile.document,
                statement.index,
                statement.predicate,
                anywhere=self.quotes_only,
            )
        )
