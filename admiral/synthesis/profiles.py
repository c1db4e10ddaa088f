"""What a document says of its subject: a definition, dates of life, and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from admiral.mentions import base_title
from admiral.records import Document
from admiral.synthesis.clauses import LONGEST_SENTENCE, piece_ends, readable, without_parentheses
from admiral.synthesis.words import ADVERBS, MONTHS, PERSONS, SHIPS, VERBS

# Of a document so many sentences are used.
MAX_SENTENCES = 6
_LONGEST_SUBJECT = 90  # characters
_LEAD = re.compile(
    r"(?:In|On|From|During|Since|Until|By|After|Before|At|As of) [^,;]{2,40}, (?=[A-Za-z])"
)
_IS = re.compile(r" (is|was|are|were) ")
_DEFINITION = re.compile(r"(?:is|was|are|were) (?=(?:an?|the|one of the) )")
_PRONOUN = re.compile(r"(?:He|She|It|They|he|she|it|they) ")
_ANAPHORA = re.compile(
    r"\b(?:this|these|those|it|he|she|they|him|them|me|we|us|I|you|their|respectively|following"
    r"|however|therefore|(?:the|such) (?:former|latter)|there|aforementioned|above|below|so)\b",
    re.IGNORECASE,
)
# "It is possible that ..." says nothing of the subject.
_IMPERSONAL = re.compile(r"(?:is|was|has been) (?:[a-z]+ ){1,3}that\b")
# Nouns of definitions that do not say what it is: "one of the largest cities".
_EMPTY_NOUNS = frozenset(
    (
        "one",
        "part",
        "name",
        "form",
        "type",
        "kind",
        "member",
        "set",
        "group",
        "number",
        "series",
        "use",
    )
)
# Where another subject takes over: "..., and its gala ...", "..., while ...".
_NEW_CLAUSE = re.compile(
    r", (?:and|so|as|when|where) (?:the|its|his|her|their|an?|one|some|many|most|all|both)\b"
    r"|,? (?:but|while|though|although|whereas|because|yet|if|unless)\b|;"
)
# "the capital of Italy and stands on the Tiber": the definition ends before the second verb.
_SECOND_VERB = re.compile(rf",? and (?:{'|'.join(sorted(VERBS))})\b")
_MONTH = "|".join(MONTHS)
_DATE = rf"(?:(?:{_MONTH}) \d{{1,2}}, \d{{4}}|\d{{1,2}} (?:{_MONTH}) \d{{4}}|\d{{4}})"
_BORN = re.compile(rf"\([^()]*\bborn (?:on |in )?({_DATE})")
_LIVED = re.compile(
    rf"\((?:[^()]*[;,] )?(?:born )?({_DATE})[^()–-]{{0,40}}[–-][^()\d]{{0,40}}?({_DATE})"
)
_HE = re.compile(r"(?:He|She|His|Her|he|she)\b")
_TOKEN = re.compile(r"\w+")


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
    definition = _definition(texts[0], base) if texts and readable(texts[0]) else ""
    noun = _noun(definition)
    life = _life(document.sentences[0]) if texts else ()
    person = _person(texts, noun, bool(life))
    names = _names(base, noun, person)
    statements = []
    for index, text in enumerate(texts):
        if not readable(text):
            continue
        found = _statement(index, text, names, defined=bool(definition) and not index)
        if found is not None:
            statements.append(found)
    return Profile(
        document, name, person, noun, definition, life if person else (), tuple(statements)
    )


def _definition(text: str, base: str) -> str:
    """Return "an American comedian" of "Seth Adam Meyers is an American comedian"."""
    found = _IS.search(text, 0, _LONGEST_SUBJECT)
    if found is None or not _DEFINITION.match(text, found.start() + 1):
        return ""
    subject = text[: found.start()]
    known = {token.lower() for token in _TOKEN.findall(base)}
    if known.isdisjoint(token.lower() for token in _TOKEN.findall(subject)):
        return ""
    phrase = _SECOND_VERB.split(_one_clause(text[found.end() :]), maxsplit=1)[0]
    return "" if _ANAPHORA.search(phrase) else phrase


def _noun(definition: str) -> str:
    """Return the word that says what it is: the last one of the shortest piece."""
    end = next(iter(piece_ends(definition)), 0)
    first = definition[:end].partition(" of ")[0].partition(" and ")[0]
    noun = first.rsplit(" ", 1)[-1].lower()
    return "" if noun in _EMPTY_NOUNS else noun


def _life(first: str) -> tuple[str, ...]:
    """Return clauses such as "who was born on December 28, 1973"."""
    first = first[:200]
    lived = _LIVED.search(first)
    if lived is not None:
        born, died = lived.groups()
        return (
            f"who was born {_on(born)}",
            f"who died {_on(died)}",
            f"who lived from {born[-4:] if ',' in born else born.rsplit(' ', 1)[-1]} to "
            f"{died[-4:] if ',' in died else died.rsplit(' ', 1)[-1]}",
        )
    born_only = _BORN.search(first)
    return (f"who was born {_on(born_only[1])}", f"born {_on(born_only[1])}") if born_only else ()


def _on(date: str) -> str:
    return f"in {date}" if date.isdigit() else f"on {date}"


def _person(texts: list[str], noun: str, life: bool) -> bool:
    if noun in PERSONS or noun in SHIPS:
        return noun in PERSONS
    later = [text for text in texts[1:] if _HE.match(text)]
    return life or bool(later)


def _one_clause(text: str) -> str:
    found = _NEW_CLAUSE.search(text)
    return text if found is None else text[: found.start()]


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
            found = _IS.search(text)
            assert found is not None
            place = found.start() + 1
        else:
            return None
    predicate = _one_clause(text[place:])
    verb, _, rest = predicate.partition(" ")
    if verb in {"also", "then"}:
        predicate, (verb, _, rest) = rest, rest.partition(" ")
    if verb in ADVERBS:
        verb = rest.partition(" ")[0]
    if verb not in VERBS and not (verb.endswith("ed") and verb.islower()):
        return None
    if _ANAPHORA.search(predicate) or (pronoun and _IMPERSONAL.match(predicate) is not None):
        return None
    lead_text = lead.group() if lead else ""
    if _ANAPHORA.search(lead_text):
        return None
    return Statement(index, lead_text, predicate)
