"""First sentences: the noun phrase that defines the subject, and its dates of birth and death."""

from __future__ import annotations

import re

from admiral.synthesis.clauses import piece_ends
from admiral.synthesis.english_words import EMPTY_NOUNS, MONTHS, VERBS

_LONGEST_SUBJECT = 90  # characters
#: The verb of a definition.
VERB = re.compile(r" (is|was|are|were) ")
_DEFINITION = re.compile(r"(?:is|was|are|were) (?=(?:an?|the|one of the) )")
#: Words that stand for something said before.
ANAPHORA = re.compile(
    r"\b(?:this|these|those|it|he|she|they|him|them|me|we|us|I|you|their|respectively|following"
    r"|however|therefore|(?:the|such) (?:former|latter)|there|aforementioned|above|below|so)\b",
    re.IGNORECASE,
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
_TOKEN = re.compile(r"\w+")


def definition_of(text: str, base: str) -> str:
    """Return "an American comedian" of "Seth Adam Meyers is an American comedian"."""
    found = VERB.search(text, 0, _LONGEST_SUBJECT)
    if found is None or not _DEFINITION.match(text, found.start() + 1):
        return ""
    subject = text[: found.start()]
    known = {token.lower() for token in _TOKEN.findall(base)}
    if known.isdisjoint(token.lower() for token in _TOKEN.findall(subject)):
        return ""
    phrase = _SECOND_VERB.split(one_clause(text[found.end() :]), maxsplit=1)[0]
    return "" if ANAPHORA.search(phrase) else phrase


def defined_noun(phrase: str) -> str:
    """Return the word that says what it is: the last one of the shortest piece."""
    end = next(iter(piece_ends(phrase)), 0)
    first = phrase[:end].partition(" of ")[0].partition(" and ")[0]
    noun = first.rsplit(" ", 1)[-1].lower()
    return "" if noun in EMPTY_NOUNS else noun


def life(first: str) -> tuple[str, ...]:
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


def one_clause(text: str) -> str:
    """Return a text up to where another subject takes over."""
    found = _NEW_CLAUSE.search(text)
    return text if found is None else text[: found.start()]
