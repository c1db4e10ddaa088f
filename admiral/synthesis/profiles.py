"""Profile of a document's subject: its definition, dates of birth and death, and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from admiral.records import Document
from admiral.retrieval.mentions import base_title
from admiral.synthesis.clauses import LONGEST_SENTENCE, clause_ends, is_parsable, strip_parentheses
from admiral.synthesis.english_words import ADVERBS, EMPTY_NOUNS, MONTHS, PERSONS, SHIPS, VERBS

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
_MONTH = "|".join(MONTHS)
_DATE = rf"(?:(?:{_MONTH}) \d{{1,2}}, \d{{4}}|\d{{1,2}} (?:{_MONTH}) \d{{4}}|\d{{4}})"
_BORN = re.compile(rf"\([^()]*\bborn (?:on |in )?({_DATE})")
_LIVED = re.compile(
    rf"\((?:[^()]*[;,] )?(?:born )?({_DATE})[^()–-]{{0,40}}[–-][^()\d]{{0,40}}?({_DATE})"
)
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
    return "" if noun in EMPTY_NOUNS else noun


def life_clauses(first_sentence: str) -> tuple[str, ...]:
    """Return clauses on birth and death such as "who was born on December 28, 1973".

    They come from the parenthesis after the name in the first sentence of a document.
    """
    start = first_sentence[:200]
    lived = _LIVED.search(start)
    if lived is not None:
        born, died = lived.groups()
        return (
            f"who was born {_with_preposition(born)}",
            f"who died {_with_preposition(died)}",
            f"who lived from {born[-4:] if ',' in born else born.rsplit(' ', 1)[-1]} to "
            f"{died[-4:] if ',' in died else died.rsplit(' ', 1)[-1]}",
        )
    born_only = _BORN.search(start)
    return (
        (
            f"who was born {_with_preposition(born_only[1])}",
            f"born {_with_preposition(born_only[1])}",
        )
        if born_only
        else ()
    )


def _with_preposition(date: str) -> str:
    return f"in {date}" if date.isdigit() else f"on {date}"


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
    adverbial: str  # text before the subject, such as ``In 1990, ``; usually empty
    predicate: str  # the sentence from the verb on, without parentheses and full stop


@dataclass(frozen=True, slots=True)
class Profile:
    """A statement of a document about its subject."""

    document: Document
    name: str  # the title without its parenthesis, with an article if the document uses one
    person: bool
    noun: str  # head noun of the definition, such as ``comedian``; empty without a definition
    definition: str  # noun phrase of the first sentence with its modifiers; empty if there is none
    life: tuple[str, ...]  # clauses on birth and death, from the parenthesis after the name
    statements: tuple[Statement, ...]

    @property
    def title(self) -> str:
        """Title of the document."""
        return self.document.title


def parse_quotable(document: Document) -> Profile:
    """Parse a document in any language: sentences that begin with its name are statements."""
    name = base_title(document.title)
    statements = []
    for index, text in enumerate(document.sentences[:MAX_SENTENCES]):
        text = strip_parentheses(text).rstrip(" .。")
        if text.startswith(f"{name} ") and len(text) <= LONGEST_SENTENCE:
            statements.append(Statement(index, "", text[len(name) + 1 :]))
    return Profile(document, name, False, "", "", (), tuple(statements))


def parse_profile(document: Document) -> Profile:
    """Parse an English document; fields that its sentences do not provide are left empty."""
    base = base_title(document.title)
    texts = [strip_parentheses(s).rstrip(" .") for s in document.sentences[:MAX_SENTENCES]]
    article = bool(texts) and texts[0].startswith(f"The {base} ")
    name = f"the {base}" if article else base
    definition = extract_definition(texts[0], base) if texts and is_parsable(texts[0]) else ""
    noun = head_noun(definition)
    lived = life_clauses(document.sentences[0]) if texts else ()
    person = _is_person(texts, noun, bool(lived))
    names = _subject_names(base, noun, person)
    statements = []
    for index, text in enumerate(texts):
        if not is_parsable(text):
            continue
        statement = _parse_statement(index, text, names, defined=bool(definition) and not index)
        if statement is not None:
            statements.append(statement)
    return Profile(
        document, name, person, noun, definition, lived if person else (), tuple(statements)
    )


def _is_person(texts: list[str], noun: str, has_life_dates: bool) -> bool:
    if noun in PERSONS or noun in SHIPS:
        return noun in PERSONS
    later = [text for text in texts[1:] if _HE.match(text)]
    return has_life_dates or bool(later)


def _subject_names(base: str, noun: str, person: bool) -> tuple[str, ...]:
    """Return the names by which sentences may refer to the subject, longest first."""
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
    adverbial = adverbial_match.group() if adverbial_match else ""
    if ANAPHORA.search(adverbial):
        return None
    return Statement(index, adverbial, predicate)
