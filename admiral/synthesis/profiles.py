"""What a document says of its subject: a definition, dates of life, and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from admiral.records import Document
from admiral.retrieval.title_matching import base_title
from admiral.synthesis.clauses import LONGEST_SENTENCE, readable, without_parentheses
from admiral.synthesis.definitions import (
    ANAPHORA,
    VERB,
    defined_noun,
    definition_of,
    life,
    one_clause,
)
from admiral.synthesis.english_words import ADVERBS, PERSONS, SHIPS, VERBS

# Of a document so many sentences are used.
MAX_SENTENCES = 6
_LEAD = re.compile(
    r"(?:In|On|From|During|Since|Until|By|After|Before|At|As of) [^,;]{2,40}, (?=[A-Za-z])"
)
_PRONOUN = re.compile(r"(?:He|She|It|They|he|she|it|they) ")
# "It is possible that ..." says nothing of the subject.
_IMPERSONAL = re.compile(r"(?:is|was|has been) (?:[a-z]+ ){1,3}that\b")
_HE = re.compile(r"(?:He|She|His|Her|he|she)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about the document's subject, taken apart.

    Attributes
    ----------
    index
        The sentence's number.
    lead
        What stands before the subject, such as ``In 1990, ``; mostly empty.
    predicate
        The rest from the verb on, without parentheses and final stop.
    """

    index: int
    lead: str
    predicate: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a document's subject.

    Attributes
    ----------
    name
        The title without its parenthesis, with an article where the document has one.
    person
        Whether it is a person.
    noun
        The last word of the shortest definition, such as ``comedian``; empty without one.
    definition
        The noun phrase of the first sentence with all that follows; empty where it has none.
    life
        Clauses on birth and death, from the parenthesis after the name.
    statements
        In the order of the document.
    """

    document: Document
    name: str
    person: bool
    noun: str
    definition: str
    life: tuple[str, ...]
    statements: tuple[Statement, ...]

    @property
    def title(self) -> str:
        """The document's title."""
        return self.document.title


def read_quotable(document: Document) -> Profile:
    """Take a document of any language apart: sentences that begin with its name are statements."""
    name = base_title(document.title)
    statements = []
    for index, text in enumerate(document.sentences[:MAX_SENTENCES]):
        text = without_parentheses(text).rstrip(" .。")
        if text.startswith(f"{name} ") and len(text) <= LONGEST_SENTENCE:
            statements.append(Statement(index, "", text[len(name) + 1 :]))
    return Profile(document, name, False, "", "", (), tuple(statements))


def read_profile(document: Document) -> Profile:
    """Take an English document apart; what its sentences do not show is left empty."""
    base = base_title(document.title)
    texts = [without_parentheses(s).rstrip(" .") for s in document.sentences[:MAX_SENTENCES]]
    article = bool(texts) and texts[0].startswith(f"The {base} ")
    name = f"the {base}" if article else base
    definition = definition_of(texts[0], base) if texts and readable(texts[0]) else ""
    noun = defined_noun(definition)
    lived = life(document.sentences[0]) if texts else ()
    person = _person(texts, noun, bool(lived))
    names = _names(base, noun, person)
    statements = []
    for index, text in enumerate(texts):
        if not readable(text):
            continue
        found = _statement(index, text, names, defined=bool(definition) and not index)
        if found is not None:
            statements.append(found)
    return Profile(
        document, name, person, noun, definition, lived if person else (), tuple(statements)
    )


def _person(texts: list[str], noun: str, life: bool) -> bool:
    if noun in PERSONS or noun in SHIPS:
        return noun in PERSONS
    later = [text for text in texts[1:] if _HE.match(text)]
    return life or bool(later)


def _names(base: str, noun: str, person: bool) -> tuple[str, ...]:
    """Return what the sentences may call the subject, the longest first."""
    names = {base, f"The {base}", f"the {base}"}
    if person and " " in base:
        names.add(base.rsplit(" ", 1)[-1])
    if noun and not person:
        names |= {f"The {noun}", f"the {noun}"}
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


def _statement(index: int, text: str, names: tuple[str, ...], *, defined: bool) -> Statement | None:
    lead = _LEAD.match(text)
    place = lead.end() if lead else 0
    pronoun = _PRONOUN.match(text, place)
    if pronoun:
        place = pronoun.end()
    else:
        name = next((n for n in names if text.startswith(f"{n} ", place)), None)
        if name is not None:
            place += len(name) + 1
        elif defined and not lead:
            found = VERB.search(text)
            assert found is not None
            place = found.start() + 1
        else:
            return None
    predicate = one_clause(text[place:])
    verb, _, rest = predicate.partition(" ")
    if verb in {"also", "then"}:
        predicate, (verb, _, rest) = rest, rest.partition(" ")
    if verb in ADVERBS:
        verb = rest.partition(" ")[0]
    if verb not in VERBS and not (verb.endswith("ed") and verb.islower()):
        return None
    if ANAPHORA.search(predicate) or (pronoun and _IMPERSONAL.match(predicate) is not None):
        return None
    lead_text = lead.group() if lead else ""
    if ANAPHORA.search(lead_text):
        return None
    return Statement(index, lead_text, predicate)
