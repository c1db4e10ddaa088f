"""The documents of a knowledge base, taken apart and linked, in bounded memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from admiral.records import Document
from admiral.retrieval.title_matching import Titles
from admiral.synthesis.profiles import Profile, Statement, read_profile, read_quotable
from admiral.synthesis.slots import Slot, find_slots

# So many documents are kept, of some kilobytes each.
_KEPT = 4096
# What a larger share of a sample names, such as a country, is described more rarely, or not at all;
# and the least numbers for that.
_COMMON, _TOO_COMMON = 0.001, 0.002
_LEAST_COMMON, _LEAST_TOO_COMMON = 2, 8


class Documents(Titles, Protocol):
    """What the writer needs of a knowledge base."""

    def rows(self) -> np.ndarray: ...
    def document_at(self, row: int) -> Document: ...


class Library:
    """Profiles of documents and the mentions in them, each found once while it is kept.

    Parameters
    ----------
    kb
        The open knowledge base.
    quoted
        Read the documents as text of any language, to be quoted and not taken apart.
    """

    def __init__(self, kb: Documents, *, quoted: bool = False) -> None:
        self.kb, self.quoted = kb, quoted
        self._rows = kb.rows()
        read = read_quotable if quoted else read_profile
        self._named: Counter[str] = Counter()
        self._common, self._too_common = float(_LEAST_COMMON), float(_LEAST_TOO_COMMON)
        self._profile = lru_cache(_KEPT)(lambda row: read(kb.document_at(row)))
        self._slots = lru_cache(_KEPT)(self._find_slots)

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, number: int) -> Profile:
        """Return the profile of a document, counted from 0 in the order of rows."""
        return self._profile(int(self._rows[number]))

    def profile(self, title: str) -> Profile | None:
        """Return the profile of a title, None if there is no such document."""
        row = self.kb.row(title)
        return None if row is None else self._profile(row)

    def slots(self, profile: Profile) -> tuple[tuple[Statement, Slot], ...]:
        """Return the replaceable mentions in the statements of a document, in order."""
        row = self.kb.row(profile.title)
        assert row is not None
        return self._slots(row)

    def note_common(self, sample: Sequence[Profile]) -> None:
        """Count how often documents are named in a sample, so that `draw` can avoid few for all."""
        for profile in sample:
            self._named.update({slot.title for _, slot in self.slots(profile)})
        self._common = max(_COMMON * len(sample), _LEAST_COMMON)
        self._too_common = max(_TOO_COMMON * len(sample), _LEAST_TOO_COMMON)

    def draw(self, profile: Profile, most: int, rng: random.Random) -> list[tuple[Statement, Slot]]:
        """Return some replaceable mentions, those of commonly named documents more rarely."""
        pairs = [
            pair
            for pair in self.slots(profile)
            if (count := self._named[pair[1].title]) <= self._too_common
            and rng.random() * count**2 < self._common**2
        ]
        return rng.sample(pairs, min(most, len(pairs)))

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
                anywhere=self.quoted,
            )
        )
