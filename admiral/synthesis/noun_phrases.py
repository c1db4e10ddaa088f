"""Noun phrases and the clauses that follow them, cut from the text of a document."""

from __future__ import annotations

import random
import re

from admiral.synthesis.clauses import piece_ends, words
from admiral.synthesis.english_words import PARTICIPLES, PREPOSITIONS
from admiral.synthesis.profiles import Profile

#: Words of a noun phrase; fewer where a clause follows; and of the clause.
LONGEST_NOUN, SHORT_NOUN, LONGEST_FACT = 14, 8, 14
# Share of passives that lose their verb.
_REDUCED = 0.6
_PASSIVE = re.compile(
    r"(?:is|was|are|were) (?=(?:[a-z]+ed|born|written|held|built|made|known|set|led|sung) )"
)
_SPECIFIC = re.compile(r"\d|(?<!^)[A-Z]")
_VAGUE = re.compile(r"(?:an?|the) [\w-]+$|.*\b(?:name|surname|term|list|word|title)\b")
# "an actor, director" lacks its last member.
_OPEN_LIST = re.compile(
    r", (?!(?:and|or|an?|the|who|which|whose|where"
    rf"|{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b)[^,]*$"
)
#: What begins a relative clause.
CLAUSE = re.compile(r"\b(?:who|that|which)\b")


def noun_phrase(profile: Profile, rng: random.Random, longest: int) -> str:
    """Return the definition or a first part of it; with "the" it is kept whole."""
    text = profile.definition
    ends = [end for end in piece_ends(text) if 2 <= words(text[:end]) <= longest]
    if text.startswith(("the ", "one of ")):
        # "the largest city" is another one than "the largest city in Wales".
        ends = [end for end in ends if end == len(text) or text[end] in ",;"]
    ends = [end for end in ends if not _open_list(text[:end])]
    if longest == SHORT_NOUN:
        ends = [end for end in ends if not CLAUSE.search(text[:end])]
    return text[: rng.choice(ends)] if ends else ""


def closed(noun: str) -> str:
    """Return a noun phrase that a clause can follow without being taken for a part of its end."""
    return f"{noun}," if "," in noun else noun


def _open_list(text: str) -> bool:
    found = _OPEN_LIST.search(text)
    return found is not None and " and " not in found.group()


def relative(profile: Profile, predicate: str, rng: random.Random) -> str:
    """Return "who won a prize" of "won a prize", or without the verb "directed by"."""
    passive = _PASSIVE.match(predicate)
    if passive is not None and " and " not in predicate and rng.random() < _REDUCED:
        return predicate[passive.end() :]
    return f"{'who' if profile.person else 'that'} {predicate}"


def specific(text: str) -> bool:
    """Return whether a phrase says enough to tell its subject from most others."""
    if _VAGUE.match(text):
        return False
    return words(text) >= 6 or bool(_SPECIFIC.search(text))
