"""Descriptions of a document in words of its own text, with other documents described inside."""

from __future__ import annotations

import random
from dataclasses import dataclass

from admiral.synthesis.clauses import joined, piece_ends, words
from admiral.synthesis.english_words import PLACES
from admiral.synthesis.noun_phrases import (
    CLAUSE,
    LONGEST_FACT,
    LONGEST_NOUN,
    SHORT_NOUN,
    closed,
    noun_phrase,
    relative,
    specific,
)
from admiral.synthesis.parsed_documents import Library
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import Slot

# Words before a mention, in a definition and in a clause.
_LONGEST_NESTING, _LONGEST_CLAUSE = 18, 12
# Shares of descriptions without a fact, and with "the" for "a".
_BARE, _DEFINITE = 0.3, 0.4


@dataclass(frozen=True, slots=True)
class Description:
    """A noun phrase that stands for a document.

    Attributes
    ----------
    text
        The phrase, with its article.
    evidence
        The sentences that it rests on, those of the described document first.
    parts
        Title and phrase of every document described in it, itself first.
    """

    text: str
    evidence: tuple[tuple[str, int], ...]
    parts: tuple[tuple[str, str], ...]

    @property
    def long(self) -> bool:
        """Whether what follows it could be taken for a part of it."""
        return bool(CLAUSE.search(self.text)) or words(self.text) > 7


def fits(profile: Profile, slot: Slot) -> bool:
    """Return whether a document is of the kind that the words around a mention ask for."""
    match slot.kind:
        case "person":
            return profile.person
        case "place":
            return profile.noun in PLACES
        case "thing":
            return not profile.person
        case _:
            return True


class Describer:
    """Writes descriptions, each for a number of documents that it is to involve."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def describe(
        self, profile: Profile, budget: int, used: frozenset[str], rng: random.Random
    ) -> Description | None:
        """Return a description that involves at most `budget` documents, None if there is none.

        Parameters
        ----------
        profile
            The document.
        budget
            Documents, this one included.
        used
            Titles that must not be described again.
        rng
            Chooses among what is possible.
        """
        if self._library.quoted:
            return _quotation(profile)
        if not profile.definition:
            return None
        if budget > 1:
            for statement, slot in self._library.draw(profile, 4, rng):
                found = self._through(profile, statement, slot, budget, used, rng)
                if found is not None:
                    return found
        return _plain(profile, rng)

    def _through(
        self,
        profile: Profile,
        statement: Statement,
        slot: Slot,
        budget: int,
        used: frozenset[str],
        rng: random.Random,
    ) -> Description | None:
        """Describe a document by what it says of another one, which is described in turn."""
        if slot.title in used or slot.title == profile.title:
            return None
        other = self._library.profile(slot.title)
        if other is None or not fits(other, slot):
            return None
        inner = self.describe(other, budget - 1, used | {profile.title}, rng)
        if inner is None:
            return None
        head = _head(profile, statement, slot.start, rng)
        if not head:
            return None
        text = joined(head, inner.text)
        evidence = ((profile.title, 0), (profile.title, statement.index), *inner.evidence)
        return Description(
            text, tuple(dict.fromkeys(evidence)), ((profile.title, text), *inner.parts)
        )


def _head(profile: Profile, statement: Statement, end: int, rng: random.Random) -> str:
    """Return a description up to a mention at `end` of a statement, empty where there is none.

    That is the beginning of the definition, or a noun phrase and a clause of what is said besides.
    """
    text, offset = statement.predicate[:end], _definition_offset(profile, statement)
    if offset is not None:
        behind = offset + len(profile.definition)
        if end < behind:
            return text[offset:] if words(text) <= _LONGEST_NESTING else ""
        text = text[behind:].lstrip(", ").removeprefix("and ")
    noun = noun_phrase(profile, rng, SHORT_NOUN)
    if not noun or words(text) > _LONGEST_CLAUSE:
        return ""
    return joined(closed(noun), relative(profile, text, rng))


def _quotation(profile: Profile) -> Description | None:
    """Quote the first sentence without the name that it begins with."""
    if not profile.statements or profile.statements[0].index:
        return None
    text = profile.statements[0].predicate
    while words(text) > LONGEST_NOUN and "," in text:
        text = text.rpartition(",")[0]
    if not 3 <= words(text) <= LONGEST_NOUN:
        return None
    text = f"“… {text}”"
    return Description(text, ((profile.title, 0),), ((profile.title, text),))


def _plain(profile: Profile, rng: random.Random) -> Description | None:
    """Describe a document by itself: what it is, and for most a fact besides."""
    title = profile.title
    sources: list[str | Statement] = [
        *profile.life,
        *(s for s in profile.statements if _definition_offset(profile, s) is None),
    ]
    rng.shuffle(sources)
    bare = [""] if rng.random() < _BARE else []
    for source in [*bare, *sources, ""]:
        fact, index = _fact(profile, source, rng)
        if index < 0:
            continue
        noun = noun_phrase(profile, rng, SHORT_NOUN if fact else LONGEST_NOUN)
        text = joined(closed(noun), fact) if fact else noun
        if not noun or not specific(text):
            continue
        if fact and text.startswith(("a ", "an ")) and rng.random() < _DEFINITE:
            text = "the " + text.partition(" ")[2]
        return Description(
            text, tuple(dict.fromkeys(((title, 0), (title, index)))), ((title, text),)
        )
    return None


def _fact(profile: Profile, source: str | Statement, rng: random.Random) -> tuple[str, int]:
    """Return a clause that can follow the noun phrase and its sentence, -1 where there is none."""
    if isinstance(source, str):
        return source, 0
    text = source.predicate
    ends = [end for end in piece_ends(text) if 3 <= words(text[:end]) <= LONGEST_FACT]
    return (relative(profile, text[: rng.choice(ends)], rng), source.index) if ends else ("", -1)


def _definition_offset(profile: Profile, statement: Statement) -> int | None:
    """Return where the definition begins in a statement, None for another statement."""
    if statement.index or not profile.definition:
        return None
    offset = statement.predicate.find(profile.definition)
    return offset if offset >= 0 else None
