"""Statements of documents about their subjects, and the mentions in them to be replaced."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import yaml

from admiral.kb import KnowledgeBase
from admiral.records import Document
from admiral.retrieval.first_stage import Mention, base_title, find_mentions
from proofs.logic.words import (
    ADVERBS,
    MONTHS,
    PARTICIPLES,
    PREPOSITIONS,
    VERBS,
    clause_ends,
    is_parsable,
    strip_parentheses,
    word_list,
)

Kind = Literal["person", "place", "thing", "any"]

_ARTICLES = frozenset({"a", "an", "the"})
#: The lists of ``words.yaml``, which explains them.
WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))
_PERSONS, _SHIPS = word_list(WORDS["persons"]), word_list(WORDS["ships"])
_EMPTY_NOUNS = word_list(WORDS["empty_nouns"])
_NOUNS = _PERSONS | word_list(WORDS["works"])
_MAX_MODIFIERS = 5
_VERB_FORM = re.compile(
    r"[a-z]+ed|starring|featuring|including|playing|portraying|defeating|replacing|succeeding|joining"
    r"|leaving|representing|supporting|covering|bordering|overlooking|marrying|visiting"
)
# The name is part of a longer noun phrase ("the armored Athena", "the dancer and actor Gene
# Kelly"), or the text gives the name ("called Athena").
_MODIFIER = re.compile(
    r"\b(?:called|named|titled|entitled|nicknamed|renamed|dubbed) $|"
    rf"\b(?:an?|the|his|her|its) [a-z]+ed $|\b(?:{'|'.join(sorted(_NOUNS))}) (?:and|or) $"
)
# Pages on days and years, which have no distinctive description.
_CALENDAR = re.compile(
    rf"(?:{'|'.join(MONTHS)})(?: \d+)?$|\d+(?:s|st|nd|rd|th)?(?: century)?(?: BC)?$"
)
# Maximum characters of a predicate that are searched, and of the context before a mention.
_MAX_SEARCHED, _MAX_CONTEXT = 240, 60
_ARTICLE = re.compile(r"(?:^|(?<=\s))(?:an?|the) $", re.IGNORECASE)
_BEFORE = PREPOSITIONS | word_list(WORDS["before_names"])
_WORD_BEFORE = re.compile(r"(?<![\w'’-])([\w'’-]+) $")
_JOINED_BEFORE = re.compile(r"[A-Z0-9][\w'’.-]* (?:and|of|&) $")
_JOINED_AFTER = re.compile(r" (?:and|&|or) [A-Z]")
# In "the city of Paris", city and name denote the same thing.
_SAME_REFERENT = re.compile(
    r"\b(?:state|city|town|village|province|district|county|community|kingdom|republic|island|region"
    r"|municipality|parish|borough|suburb|name|title|role|part|character|duchy|commune|port"
    r"|neighborhood|neighbourhood|territory|department|nation|country) of (?:the )?$"
    r"|\b(?:known|titled|entitled|named|called|nicknamed|renamed|credited|billed|styled)"
    r"(?: [a-z]+)? as $"
)
_AFTER = re.compile(
    r"$|[,;]|\.$| (?:and|or|but|to|as|who|which|that|where|when|while"
    rf"|{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b"
)
_APPOSITION = re.compile(
    r", (?:(?:an?|the|his|her|its|who|whose|which|where) |(?:Jr|Sr|Inc)\b|[A-Z0-9])"
)
_PLACE = re.compile(
    r"\b(?:born|located|situated|died|raised|lives?|lived|lies|resid\w+|based) (?:\w+ )?"
    r"(?:in|at|near) $"
)
_PERSON = re.compile(
    r"\b(?:(?:directed|written|composed|painted|sung|portrayed|played|edited|sculpted|succeeded"
    r"|narrated|illustrated|choreographed|stars?) by|married(?: to)?|(?:son|daughter|wife|husband"
    r"|brother|sister|father|mother|widow|student|pupil) of|starring) $"
)
_INSIDE = re.compile(r"\b(?:in|at|near|into|within|on|during|throughout) $")


@dataclass(frozen=True, slots=True)
class Slot:
    """A replaceable mention in a predicate."""

    start: int  # start, end: offsets of the mention, including its article
    end: int
    title: str
    kind: Kind  # kind of document that the context requires
    # whether an apposition or relative clause about the mention follows, so that a claim must end
    # after it
    has_apposition: bool


def find_slots(titles: KnowledgeBase, document: Document, index: int, text: str) -> Iterator[Slot]:
    """Yield the replaceable mentions of other documents in `text`, from left to right.

    `document`: the document that the text belongs to; if it has hyperlinks, only these are
    mentions.
    """
    text = text[:_MAX_SEARCHED]
    mentions = (
        _hyperlink_mentions(titles, document, index, text)
        if document.links
        else _title_mentions(titles, document, text)
    )
    own = base_title(document.title)
    for mention in mentions:
        title = mention.titles[0]
        if base_title(title) == own or is_list_page(title) or _CALENDAR.match(title):
            continue
        slot = slot_at(text, mention.start, mention.end, title)
        if slot is not None:
            yield slot


def is_list_page(title: str) -> bool:
    """Return whether a page is a list of others, which has no subject of its own."""
    return title.startswith(("List of ", "Lists of "))


def _hyperlink_mentions(
    titles: KnowledgeBase, document: Document, index: int, text: str
) -> Iterator[Mention]:
    mentions = []
    for title in dict.fromkeys(document.links[index]):
        name = base_title(title)
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) if name else None
        if match is not None and titles.row(title) is not None:
            mentions.append(Mention(match.start(), match.end(), (title,)))
    end = 0
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if mention.start >= end:
            yield mention
            end = mention.end


def _title_mentions(titles: KnowledgeBase, document: Document, text: str) -> Iterator[Mention]:
    """Yield the unambiguous mentions of titles.

    A title with a parenthesis counts only if the document contains the word in the parenthesis, as
    in "his novel Dune" for "Dune (novel)".
    """
    own = " ".join(document.sentences).casefold()
    for mention in find_mentions(titles, text):
        title = mention.titles[0]
        if base_title(title) == title:
            yield mention
        elif len(mention.titles) == 1:
            kind = title[len(base_title(title)) :].strip(" ()").rsplit(" ", 1)[-1]
            if re.search(rf"\b{re.escape(kind.casefold())}s?\b", own):
                yield mention


def slot_at(text: str, start: int, end: int, title: str) -> Slot | None:
    """Return the slot of a mention; None if it is a part of a longer name or phrase."""
    if text[start - 1 : start] == text[end : end + 1] == '"':
        start, end = start - 1, end + 1
    if text.count('"', 0, start) % 2 or not _AFTER.match(text, end):
        return None
    one_word = " " not in text[start:end]
    if one_word and _JOINED_AFTER.match(text, end):
        return None
    bare = start
    start = _phrase_start(text, start)
    before = text[max(start - _MAX_CONTEXT, 0) : start]
    word = _WORD_BEFORE.search(before)
    if word is None or not _can_precede(word.group(1)) or _SAME_REFERENT.search(before):
        return None
    if _MODIFIER.search(before):
        return None
    if one_word and start == bare and _JOINED_BEFORE.search(before):
        return None
    kind: Kind = "any"
    if _PLACE.search(before):
        kind = "place"
    elif _PERSON.search(before):
        kind = "person"
    elif _INSIDE.search(before):
        kind = "thing"
    return Slot(start, end, title, kind, _APPOSITION.match(text, end) is not None)


def _can_precede(word: str) -> bool:
    return word in _BEFORE or word in VERBS or bool(_VERB_FORM.fullmatch(word))


def _phrase_start(text: str, start: int) -> int:
    phrase_start = start
    before = _WORD_BEFORE.search(text, 0, phrase_start)
    if before is not None and before.group(1) in _NOUNS:
        for _ in range(_MAX_MODIFIERS):
            phrase_start = before.start(1)
            before = _WORD_BEFORE.search(text, 0, phrase_start)
            if before is None:
                return start
            if _can_precede(before.group(1)) or before.group(1).lower() in _ARTICLES:
                break
        else:
            return start
    article = _ARTICLE.search(text, 0, phrase_start)
    return phrase_start if article is None else article.start()


_MAX_SUBJECT_LENGTH = 90  # characters
#: The copula of a definition.
COPULA = re.compile(r" (is|was|are|were) ")
_DEFINITION = re.compile(r"(?:is|was|are|were) (?=(?:an?|the|one of the) )")
#: Words that refer to something mentioned before.
ANAPHORA = re.compile(
    r"\b(?:this|these|those|it|he|she|they|him|them|me|we|us|I|you|their|respectively|following"
    r"|however|therefore|(?:the|such) (?:former|latter)|there|aforementioned|above|below|so)\b",
    re.IGNORECASE,
)
# Start of a clause with another subject: "..., and its gala ...", "..., while ...".
_NEW_CLAUSE = re.compile(
    r", (?:and|so|as|when|where) (?:the|its|his|her|their|an?|one|some|many|most|all|both)\b"
    r"|,? (?:but|while|though|although|whereas|because|yet|if|unless)\b|;"
)
# "the capital of Italy and stands on the Tiber": the definition ends before the second verb.
_SECOND_VERB = re.compile(rf",? and (?:{'|'.join(sorted(VERBS))})\b")
# Dates of birth and perhaps death in the parenthesis after a name.
_LIFE = re.compile(r"\([^()]*(?:\bborn\b|\d{4}[^()]{0,40}[–-])")
_TOKEN = re.compile(r"\w+")


def extract_definition(text: str, base: str) -> str:
    """Return the defining noun phrase of a first sentence; empty if it has none.

    Of "Seth Adam Meyers is an American comedian", this is "an American comedian". The sentence must
    be about the title `base`: its subject must share a word with it.
    """
    copula = COPULA.search(text, 0, _MAX_SUBJECT_LENGTH)
    if copula is None or not _DEFINITION.match(text, copula.start() + 1):
        return ""
    subject = text[: copula.start()]
    title_words = {token.lower() for token in _TOKEN.findall(base)}
    if title_words.isdisjoint(token.lower() for token in _TOKEN.findall(subject)):
        return ""
    phrase = _SECOND_VERB.split(first_clause(text[copula.end() :]), maxsplit=1)[0]
    return "" if ANAPHORA.search(phrase) else phrase


def head_noun(phrase: str) -> str:
    """Return the head noun of a definition, such as ``comedian``; empty if it is uninformative.

    It is the last word of the shortest noun phrase that the definition can be cut to.
    """
    end = next(iter(clause_ends(phrase)), 0)
    first = phrase[:end].partition(" of ")[0].partition(" and ")[0]
    noun = first.rsplit(" ", 1)[-1].lower()
    return "" if noun in _EMPTY_NOUNS else noun


def first_clause(text: str) -> str:
    """Return the text up to the first clause with another subject."""
    new_clause = _NEW_CLAUSE.search(text)
    return text if new_clause is None else text[: new_clause.start()]


# Sentences of a document that are used.
MAX_SENTENCES = 6
_ADVERBIAL = re.compile(
    r"(?:In|On|From|During|Since|Until|By|After|Before|At|As of) [^,;]{2,40}, (?=[A-Za-z])"
)
_PRONOUN = re.compile(r"(?:He|She|It|They|he|she|it|they) ")
# "It is possible that ..." is not about the subject.
_IMPERSONAL = re.compile(r"(?:is|was|has been) (?:[a-z]+ ){1,3}that\b")
_HE = re.compile(r"(?:He|She|His|Her|he|she)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed sentence about the document's subject."""

    index: int
    predicate: str  # the sentence from the verb on, without parentheses and full stop


@dataclass(frozen=True, slots=True)
class Profile:
    """A statement of a document about its subject."""

    document: Document
    name: str  # the title without its parenthesis, with an article if the document uses one
    person: bool
    noun: str  # head noun of the definition, such as ``comedian``; empty without a definition
    definition: str  # noun phrase of the first sentence with its modifiers; empty if there is none
    statements: tuple[Statement, ...]

    @property
    def title(self) -> str:
        """Title of the document."""
        return self.document.title


def parse_profile(document: Document) -> Profile:
    """Parse an English document; fields that its sentences do not provide are left empty."""
    base = base_title(document.title)
    texts = [strip_parentheses(s).rstrip(" .") for s in document.sentences[:MAX_SENTENCES]]
    article = bool(texts) and texts[0].startswith(f"The {base} ")
    name = f"the {base}" if article else base
    definition = extract_definition(texts[0], base) if texts and is_parsable(texts[0]) else ""
    noun = head_noun(definition)
    person = _is_person(document, noun)
    names = _subject_names(base, noun, person)
    statements = []
    for index, text in enumerate(texts):
        if not is_parsable(text):
            continue
        statement = _parse_statement(index, text, names, defined=bool(definition) and not index)
        if statement is not None:
            statements.append(statement)
    return Profile(document, name, person, noun, definition, tuple(statements))


def _is_person(document: Document, noun: str) -> bool:
    if noun in _PERSONS or noun in _SHIPS:
        return noun in _PERSONS
    first, *later = (*document.sentences[:MAX_SENTENCES], "")
    return bool(_LIFE.search(first[:200])) or any(map(_HE.match, later))


def _subject_names(base: str, noun: str, person: bool) -> tuple[str, ...]:
    names = {base, f"The {base}", f"the {base}"}
    if person and " " in base:
        names.add(base.rsplit(" ", 1)[-1])
    if noun and not person:
        names |= {f"The {noun}", f"the {noun}"}
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


def _parse_statement(
    index: int, text: str, names: tuple[str, ...], *, defined: bool
) -> Statement | None:
    adverbial_match = _ADVERBIAL.match(text)
    start = adverbial_match.end() if adverbial_match else 0
    pronoun = _PRONOUN.match(text, start)
    if pronoun:
        start = pronoun.end()
    else:
        name = next((n for n in names if text.startswith(f"{n} ", start)), None)
        if name is not None:
            start += len(name) + 1
        elif defined and not adverbial_match:
            copula = COPULA.search(text)
            assert copula is not None
            start = copula.start() + 1
        else:
            return None
    predicate = first_clause(text[start:])
    verb, _, rest = predicate.partition(" ")
    if verb in {"also", "then"}:
        predicate, (verb, _, rest) = rest, rest.partition(" ")
    if verb in ADVERBS:
        verb = rest.partition(" ")[0]
    if verb not in VERBS and not (verb.endswith("ed") and verb.islower()):
        return None
    if ANAPHORA.search(predicate) or (pronoun and _IMPERSONAL.match(predicate) is not None):
        return None
    return Statement(index, predicate)


# Documents kept in the cache, of a few kilobytes each.
_CACHE_SIZE = 4096
# Documents that a larger share of a sample mentions, such as countries, are described more rarely
# (common) or never (too common). The thresholds have minimum counts for small samples.
_COMMON_SHARE, _TOO_COMMON_SHARE = 0.001, 0.002
_MIN_COMMON, _MIN_TOO_COMMON = 2, 8


class ParsedCorpus:
    """Cached profiles of documents and of the replaceable mentions in them."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb, self._rows = kb, kb.rows()
        self._mention_counts: Counter[str] = Counter()
        self._common, self._too_common = float(_MIN_COMMON), float(_MIN_TOO_COMMON)
        self._profile = lru_cache(_CACHE_SIZE)(lambda row: parse_profile(kb.document_at(row)))
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
            for slot in find_slots(self.kb, profile.document, statement.index, statement.predicate)
        )
