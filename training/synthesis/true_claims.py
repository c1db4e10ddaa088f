"""True claims: statements of one document that describe other documents instead of naming them."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from admiral.retrieval.first_stage import base_title
from proofs.logic.words import (
    PARTICIPLES,
    PREPOSITIONS,
    clause_ends,
    join_parts,
    to_sentence,
    word_count,
    word_list,
)
from training.synthesis.profiles import WORDS, ParsedCorpus, Profile, Slot, Statement

# Maximum words of a noun phrase, of a noun phrase that a clause follows, and of that clause.
_MAX_NOUN_WORDS, _MAX_SHORT_NOUN_WORDS, _MAX_FACT_WORDS = 14, 8, 14
_PLACES = word_list(WORDS["places"])
_STOP_WORDS = word_list(WORDS["telling_nothing"])
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
            return profile.noun in _PLACES
        case "thing":
            return not profile.person
        case _:
            return True


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


def _describe_directly(profile: Profile, rng: random.Random) -> Description | None:
    title = profile.title
    facts = [s for s in profile.statements if _definition_offset(profile, s) is None]
    rng.shuffle(facts)
    bare: list[Statement | None] = [None] if rng.random() < _BARE_SHARE else []
    for statement in [*bare, *facts, None]:
        fact, index = "", 0
        if statement is not None:
            fact, index = _fact(profile, statement, rng), statement.index
            if not fact:
                continue
        noun = _noun_phrase(profile, rng, _MAX_SHORT_NOUN_WORDS if fact else _MAX_NOUN_WORDS)
        text = join_parts(_close_noun_phrase(noun), fact) if fact else noun
        if not noun or not _is_specific(text):
            continue
        if fact and text.startswith(("a ", "an ")) and rng.random() < _DEFINITE_SHARE:
            text = "the " + text.partition(" ")[2]
        evidence = dict.fromkeys(((title, 0), (title, index)))
        return Description(text, tuple(evidence), ((title, text),))
    return None


def _fact(profile: Profile, statement: Statement, rng: random.Random) -> str:
    text = statement.predicate
    ends = [end for end in clause_ends(text) if 3 <= word_count(text[:end]) <= _MAX_FACT_WORDS]
    return _relative_clause(profile, text[: rng.choice(ends)], rng) if ends else ""


def _definition_offset(profile: Profile, statement: Statement) -> int | None:
    """Return the offset of the definition in a statement; None if it is in another statement."""
    if statement.index or not profile.definition:
        return None
    offset = statement.predicate.find(profile.definition)
    return offset if offset >= 0 else None


def _noun_phrase(profile: Profile, rng: random.Random, longest: int) -> str:
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
    passive = _PASSIVE.match(predicate)
    if passive is not None and " and " not in predicate and rng.random() < _REDUCED_SHARE:
        return predicate[passive.end() :]
    return f"{'who' if profile.person else 'that'} {predicate}"


def _is_specific(text: str) -> bool:
    if _VAGUE.match(text):
        return False
    return word_count(text) >= 6 or bool(_SPECIFIC.search(text))


_WORD = re.compile(r"\w+")


@lru_cache(64)  # a claim is checked against each of its titles
def _words(text: str) -> tuple[str, ...]:
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    return tuple(_WORD.findall(text.casefold()))


def normalised(text: str) -> str:
    """Return the words of a text without accents, case, and plural or possessive endings."""
    return " ".join(map(_stem, _words(text)))


def _stem(word: str) -> str:
    return word.removesuffix("s") or word


def leaked_words(claim: str, hidden: str, named: str) -> list[str]:
    """Return the words of a hidden title that occur in a claim.

    Its initials count too (NBC for National Broadcasting Company). Stop words do not count, nor do
    words of the title that the claim names on purpose, in the same form. `hidden`: title that the
    claim must not show. Its parenthesis is ignored: it gives the kind of the document, which a
    description may give too.
    """
    allowed = set(_words(base_title(named)))
    claim_words = {_stem(word) for word in _words(claim) if word not in allowed}
    parts = _words(base_title(hidden))
    leaked = [word for word in parts if word not in _STOP_WORDS and _stem(word) in claim_words]
    # The title as initials, or written as one word.
    initials, compound = "".join(word[0] for word in parts), "".join(parts)
    if len(parts) > 1:
        leaked += [w for w in (initials, compound) if len(w) > 2 and _stem(w) in claim_words]
    return leaked


# Share of claims with two slots, and of the others that keep text after the description.
_TWO_SLOTS_SHARE, _TAIL_SHARE = 0.6, 0.5
_MAX_STATEMENT_WORDS = 26
# A slot with its statement, and the description that replaces it.
Filled = tuple[Statement, Slot, Description]


def compose_sentence(root: Profile, chosen: Sequence[Filled], rng: random.Random) -> str:
    """Return one or two statements of the root as one sentence, with descriptions in the slots."""
    statement, slot, description = chosen[0]
    predicate, end = statement.predicate, slot.end
    parts = [root.name, predicate[: slot.start], description.text]
    if len(chosen) == 2:
        second_statement, second_slot, second = chosen[1]
        if second_statement == statement:
            parts[-1] += "," if description.is_long else ""
            parts += [predicate[end : second_slot.start], second.text]
        else:
            link = ", and" if description.is_long else "and"
            parts += [link, second_statement.predicate[: second_slot.start], second.text]
    elif not description.is_long and not slot.has_apposition and rng.random() < _TAIL_SHARE:
        ends = [
            each
            for each in clause_ends(predicate, end)
            if word_count(predicate[:each]) <= _MAX_STATEMENT_WORDS
        ]
        parts.append(predicate[end : rng.choice(ends)] if ends else "")
    return to_sentence(join_parts(*parts))


_MAX_WORDS, _MAX_CHARACTERS = 60, 420
_TRIES = 4  # mentions that are tried for a claim
# Titles that would be read as pronouns at the start of a sentence.
_PRONOUN_TITLES = frozenset(
    ("it", "he", "she", "they", "this", "that", "here", "there", "i", "you", "we")
)


@dataclass(frozen=True, slots=True)
class TrueClaim:
    """A true claim and its evidence."""

    text: str
    # gold sentences as (title, sentence number); the documents can only be found in this order
    evidence: tuple[tuple[str, int], ...]
    # (title, description) of the documents that the claim hides: all but the first
    described: tuple[tuple[str, str], ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """Distinct documents in the order of the evidence."""
        return tuple(dict.fromkeys(title for title, _ in self.evidence))


class TrueClaimWriter:
    """Writes true claims that start from a given document, and the descriptions in them."""

    def __init__(self, corpus: ParsedCorpus) -> None:
        self._corpus = corpus

    def write(self, root: Profile, documents: int, rng: random.Random) -> TrueClaim | None:
        """Return a claim about `root` over at most `documents` documents; None if there is none."""
        if root.name.casefold() in _PRONOUN_TITLES:
            return None
        best: TrueClaim | None = None
        for pair in self._corpus.sample_slots(root, _TRIES, rng):
            draft = self._draft(root, pair, documents, rng)
            if draft is None or not _is_acceptable(draft):
                continue
            if len(draft.titles) == documents:
                return draft
            if best is None or len(draft.titles) > len(best.titles):
                best = draft
        return best

    def _draft(
        self, root: Profile, pair: tuple[Statement, Slot], documents: int, rng: random.Random
    ) -> TrueClaim | None:
        chosen, budgets = [pair], [documents - 1]
        if documents > 2 and rng.random() < _TWO_SLOTS_SHARE:
            candidates = self._corpus.sample_slots(root, _TRIES, rng)
            second = next((each for each in candidates if _are_compatible(each, pair)), None)
            if second is not None:
                chosen = sorted([pair, second], key=lambda pair: (pair[0].index, pair[1].start))
                first = rng.randint(1, documents - 2)
                budgets = [first, documents - 1 - first]
        used = frozenset((root.title, *(slot.title for _, slot in chosen)))
        filled: list[Filled] = []
        evidence: list[tuple[str, int]] = []
        for (statement, slot), budget in zip(chosen, budgets, strict=True):
            description = self._describe_slot(slot, budget, used, rng)
            if description is None:
                return None
            filled.append((statement, slot, description))
            evidence += [(root.title, statement.index), *description.evidence]
            used |= {title for title, _ in description.phrases}
        return TrueClaim(
            compose_sentence(root, filled, rng),
            tuple(dict.fromkeys(evidence)),
            tuple(part for _, _, description in filled for part in description.phrases),
        )

    def _describe_slot(
        self, slot: Slot, budget: int, used: frozenset[str], rng: random.Random
    ) -> Description | None:
        profile = self._corpus.profile(slot.title)
        if profile is None or not matches_slot(profile, slot):
            return None
        return self.describe(profile, budget, used, rng)

    def describe(
        self, profile: Profile, budget: int, used: frozenset[str], rng: random.Random
    ) -> Description | None:
        """Return a description that involves at most `budget` documents; None if there is none.

        `budget`: maximum number of documents, including this one. `used`: titles that must not be
        described again.
        """
        if not profile.definition:
            return None
        title = profile.title
        for statement, slot in self._corpus.sample_slots(profile, 4, rng) if budget > 1 else ():
            if slot.title in used or slot.title == title:
                continue
            inner = self._describe_slot(slot, budget - 1, used | {title}, rng)
            if inner is None:
                continue
            if head := _phrase_before_mention(profile, statement, slot.start, rng):
                text = join_parts(head, inner.text)
                evidence = dict.fromkeys(((title, 0), (title, statement.index), *inner.evidence))
                return Description(text, tuple(evidence), ((title, text), *inner.phrases))
        return _describe_directly(profile, rng)


def _are_compatible(first: tuple[Statement, Slot], second: tuple[Statement, Slot]) -> bool:
    if first[0] != second[0]:
        return first[1].title != second[1].title
    left, right = sorted((first[1], second[1]), key=lambda slot: slot.start)
    return left.title != right.title and not left.has_apposition and left.end < right.start


def _is_acceptable(draft: TrueClaim) -> bool:
    text = draft.text
    if word_count(text) > _MAX_WORDS or len(text) > _MAX_CHARACTERS or len(draft.titles) < 2:
        return False
    root = draft.titles[0]
    if any(leaked_words(text, title, root) for title, _ in draft.described):
        return False
    # "The Titanic was built by the company that built the Titanic" is circular.
    return not any(base_title(root) in part for _, part in draft.described)
