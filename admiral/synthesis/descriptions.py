"""Descriptions of a document in the words of its own text, possibly nested."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from admiral.synthesis.clauses import clause_ends, join_parts, word_count
from admiral.synthesis.english_words import PARTICIPLES, PLACES, PREPOSITIONS
from admiral.synthesis.parsed_documents import ParsedCorpus
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import Slot

# Maximum words of a noun phrase, of a noun phrase that a clause follows, and of that clause.
_MAX_NOUN_WORDS, _MAX_SHORT_NOUN_WORDS, _MAX_FACT_WORDS = 14, 8, 14
# Share of passive clauses that are reduced to the participle.
_REDUCED_SHARE = 0.6
_PASSIVE = re.compile(
    r"(?:is|was|are|were) (?=(?:[a-z]+ed|born|written|held|built|made|known|set|led|sung) )"
)
_SPECIFIC = re.compile(r"\d|(?<!^)[A-Z]")
_VAGUE = re.compile(r"(?:an?|the) [\w-]+$|.*\b(?:name|surname|term|list|word|title)\b")
# "an actor, director" lacks the last item of its list.
_OPEN_LIST = re.compile(
    r", (?!(?:and|or|an?|the|who|which|whose|where"
    rf"|{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b)[^,]*$"
)
_RELATIVE_PRONOUN = re.compile(r"\b(?:who|that|which)\b")
# Maximum words before a nested mention, in a definition and in a clause.
_MAX_DEFINITION_WORDS, _MAX_CLAUSE_WORDS = 18, 12
# Share of descriptions without a fact, and of those with "the" in place of "a".
_BARE_SHARE, _DEFINITE_SHARE = 0.3, 0.4


@dataclass(frozen=True, slots=True)
class Description:
    """A noun phrase that describes a document without naming it."""

    text: str
    # sentences that support it, as (title, sentence number), the described document first
    evidence: tuple[tuple[str, int], ...]
    # (title, phrase) for every document described in it, the described document first
    phrases: tuple[tuple[str, str], ...]

    @property
    def is_long(self) -> bool:
        """Whether a reader could take following words for a part of the phrase."""
        return bool(_RELATIVE_PRONOUN.search(self.text)) or word_count(self.text) > 7


def matches_slot(profile: Profile, slot: Slot) -> bool:
    """Return whether a document is of the kind that the context of a mention requires."""
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
    """Writes descriptions that involve a given number of documents."""

    def __init__(self, corpus: ParsedCorpus) -> None:
        self._corpus = corpus

    def describe(
        self, profile: Profile, budget: int, used: frozenset[str], rng: random.Random
    ) -> Description | None:
        """Return a description that involves at most `budget` documents; None if there is none.

        `budget`: maximum number of documents, including this one. `used`: titles that must not be
        described again.
        """
        if self._corpus.quotes_only:
            return _quotation(profile)
        if not profile.definition:
            return None
        if budget > 1:
            for statement, slot in self._corpus.sample_slots(profile, 4, rng):
                description = self._describe_by_mention(profile, statement, slot, budget, used, rng)
                if description is not None:
                    return description
        return _describe_directly(profile, rng)

    def _describe_by_mention(
        self,
        profile: Profile,
        statement: Statement,
        slot: Slot,
        budget: int,
        used: frozenset[str],
        rng: random.Random,
    ) -> Description | None:
        """Describe a document by its relation to another document, which is described in turn."""
        if slot.title in used or slot.title == profile.title:
            return None
        other = self._corpus.profile(slot.title)
        if other is None or not matches_slot(other, slot):
            return None
        inner = self.describe(other, budget - 1, used | {profile.title}, rng)
        if inner is None:
            return None
        head = _phrase_before_mention(profile, statement, slot.start, rng)
        if not head:
            return None
        text = join_parts(head, inner.text)
        evidence = ((profile.title, 0), (profile.title, statement.index), *inner.evidence)
        return Description(
            text, tuple(dict.fromkeys(evidence)), ((profile.title, text), *inner.phrases)
        )


def _phrase_before_mention(
    profile: Profile, statement: Statement, end: int, rng: random.Random
) -> str:
    """Return the description up to a mention at offset `end` of a statement; empty if impossible.

    It is the start of the definition, or a noun phrase with a relative clause.
    """
    text, offset = statement.predicate[:end], _definition_offset(profile, statement)
    if offset is not None:
        definition_end = offset + len(profile.definition)
        if end < definition_end:
            return text[offset:] if word_count(text) <= _MAX_DEFINITION_WORDS else ""
        text = text[definition_end:].lstrip(", ").removeprefix("and ")
    noun = _noun_phrase(profile, rng, _MAX_SHORT_NOUN_WORDS)
    if not noun or word_count(text) > _MAX_CLAUSE_WORDS:
        return ""
    return join_parts(_close_noun_phrase(noun), _relative_clause(profile, text, rng))


def _quotation(profile: Profile) -> Description | None:
    """Quote the first sentence without its subject; None if that is not possible."""
    if not profile.statements or profile.statements[0].index:
        return None
    text = profile.statements[0].predicate
    while word_count(text) > _MAX_NOUN_WORDS and "," in text:
        text = text.rpartition(",")[0]
    if not 3 <= word_count(text) <= _MAX_NOUN_WORDS:
        return None
    text = f"“… {text}”"
    return Description(text, ((profile.title, 0),), ((profile.title, text),))


def _describe_directly(profile: Profile, rng: random.Random) -> Description | None:
    """Describe a document by its definition and, in most cases, one more fact."""
    title = profile.title
    sources: list[str | Statement] = [
        *profile.life,
        *(s for s in profile.statements if _definition_offset(profile, s) is None),
    ]
    rng.shuffle(sources)
    bare = [""] if rng.random() < _BARE_SHARE else []
    for source in [*bare, *sources, ""]:
        fact, index = _fact(profile, source, rng)
        if index < 0:
            continue
        noun = _noun_phrase(profile, rng, _MAX_SHORT_NOUN_WORDS if fact else _MAX_NOUN_WORDS)
        text = join_parts(_close_noun_phrase(noun), fact) if fact else noun
        if not noun or not _is_specific(text):
            continue
        if fact and text.startswith(("a ", "an ")) and rng.random() < _DEFINITE_SHARE:
            text = "the " + text.partition(" ")[2]
        return Description(
            text, tuple(dict.fromkeys(((title, 0), (title, index)))), ((title, text),)
        )
    return None


def _fact(profile: Profile, source: str | Statement, rng: random.Random) -> tuple[str, int]:
    """Return a clause that can follow a noun phrase, and its sentence number; ("", -1) if none."""
    if isinstance(source, str):
        return source, 0
    text = source.predicate
    ends = [end for end in clause_ends(text) if 3 <= word_count(text[:end]) <= _MAX_FACT_WORDS]
    return (
        (_relative_clause(profile, text[: rng.choice(ends)], rng), source.index)
        if ends
        else ("", -1)
    )


def _definition_offset(profile: Profile, statement: Statement) -> int | None:
    """Return the offset of the definition in a statement; None if it is in another statement."""
    if statement.index or not profile.definition:
        return None
    offset = statement.predicate.find(profile.definition)
    return offset if offset >= 0 else None


def _noun_phrase(profile: Profile, rng: random.Random, longest: int) -> str:
    """Return the definition or its beginning; a definition with "the" is not shortened."""
    text = profile.definition
    ends = [end for end in clause_ends(text) if 2 <= word_count(text[:end]) <= longest]
    if text.startswith(("the ", "one of ")):
        # "the largest city" may differ from "the largest city in Wales".
        ends = [end for end in ends if end == len(text) or text[end] in ",;"]
    ends = [end for end in ends if not _has_open_list(text[:end])]
    if longest == _MAX_SHORT_NOUN_WORDS:
        ends = [end for end in ends if not _RELATIVE_PRONOUN.search(text[:end])]
    return text[: rng.choice(ends)] if ends else ""


def _close_noun_phrase(noun: str) -> str:
    return f"{noun}," if "," in noun else noun


def _has_open_list(text: str) -> bool:
    match = _OPEN_LIST.search(text)
    return match is not None and " and " not in match.group()


def _relative_clause(profile: Profile, predicate: str, rng: random.Random) -> str:
    """Turn a predicate into a relative clause ("who won a prize") or a participle clause."""
    passive = _PASSIVE.match(predicate)
    if passive is not None and " and " not in predicate and rng.random() < _REDUCED_SHARE:
        return predicate[passive.end() :]
    return f"{'who' if profile.person else 'that'} {predicate}"


def _is_specific(text: str) -> bool:
    if _VAGUE.match(text):
        return False
    return word_count(text) >= 6 or bool(_SPECIFIC.search(text))
