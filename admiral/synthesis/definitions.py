"""Definition of a document's subject, and dates of birth and death, from its first sentence."""

from __future__ import annotations

import re

from admiral.synthesis.clauses import clause_ends
from admiral.synthesis.english_words import EMPTY_NOUNS, MONTHS, VERBS

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
