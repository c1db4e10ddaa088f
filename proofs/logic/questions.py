"""Questions for the parts of a claim that the evidence does not cover.

Rules turn noun phrases, dates and names into questions. Other spans get none: a wrong question
misleads more than a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proofs.logic.words import word_list

_PREPOSITIONS = word_list(
    """
    about after against among around at before behind below between beyond by during for from in
    inside into near of off on onto outside over since through throughout to toward towards under
    until up upon with within
    """
)
# A noun phrase after these says what something is; it does not ask for another thing.
_COPULAS = word_list("is was are were be been being became becomes become remains as like than not")
_UNASKED = word_list("a an the same similar different other another first last only few lot number")
# Words that cannot end a noun phrase, or that make it a clause.
_CLAUSE = word_list(
    "is was are were has had have does did do can could will would may might be been"
)
_RELATIVE = word_list("that which who whom whose where when")
_PEOPLE = word_list(
    """
    actor actress artist astronaut athlete author boxer brother character coach comedian
    composer conductor creator cricketer dancer daughter designer director drummer economist
    editor engineer father filmmaker footballer founder golfer guitarist host husband inventor
    journalist king lawyer leader man manager mathematician mayor mother musician novelist
    officer owner painter philosopher photographer physicist player playwright poet politician
    president producer professor queen rapper scientist screenwriter sculptor singer sister son
    songwriter star swimmer teacher vocalist wife woman wrestler writer
    """
)
# Nouns of which one may ask "which" or "what".
_KINDS = word_list(
    """
    aircraft airport album animal artwork award band battle birthplace book bridge building camp
    capital car channel church city club college comedy company country county district
    documentary drama event festival film game genus group hometown hospital island label lake
    league magazine mountain movie museum musical name nation network newspaper novel opera
    organisation organization painting party place plant play poem program programme province
    publication region restaurant river school series ship show single sitcom site song species
    sport stadium state station story street suburb team theatre thriller title town university
    vehicle version village war work
    """
)
_NOUNS = _PEOPLE | _KINDS
_OPEN_ENDS = word_list("a an the this that his her its their who whose which also by to")
_MONTHS = word_list(
    "january february march april may june july august september october november december"
)
_YEAR = re.compile(r"(1[0-9]{3}|20[0-9]{2})s?")
_DAY = re.compile(r"[0-3]?[0-9](st|nd|rd|th)?")
_PUNCTUATION = ".,;:!?\"'“”‘’()[]"
_MOST_WORDS = 12


def question(before: str, span: str) -> str | None:
    """Return a question that asks for what a span of a claim says, or None if no rule fits.

    Parameters
    ----------
    before
        The claim up to the span.
    span
        The span.
    """
    words = span.rstrip(".,;:!? ").split()
    lower = [word.strip(_PUNCTUATION).lower() for word in words]
    previous = before.split()[-1].strip(_PUNCTUATION).lower() if before.split() else ""
    prepositions = 0
    while prepositions < len(lower) and lower[prepositions] in _PREPOSITIONS:
        previous = lower[prepositions]
        prepositions += 1
    words, lower = words[prepositions:], lower[prepositions:]
    if not words or len(words) > _MOST_WORDS or span.count('"') % 2:
        return None
    if _is_date(lower, previous):
        return "When?"
    if previous in _COPULAS or lower[-1] in _PREPOSITIONS or not _is_phrase(lower):
        return None
    article, rest = lower[0], " ".join(words[1:])
    if len(words) < 2 or lower[1] in _UNASKED or not _NOUNS & set(_head(lower)):
        return None
    if article in ("a", "an"):
        return f"Which {rest}?"
    if article == "the" and _is_of_a_name(words):
        who = "Who" if _PEOPLE & set(lower[1 : lower.index("of")]) else "What"
        return f"{who} is the {rest}?"
    return None


def _head(words: Sequence[str]) -> Sequence[str]:
    """Return the words up to the first preposition or relative clause."""
    ends = (at for at, word in enumerate(words) if word in _PREPOSITIONS | _RELATIVE)
    return words[: next(ends, len(words))]


def _is_of_a_name(words: Sequence[str]) -> bool:
    """Return whether a phrase such as "the author of The Bell Jar" ends with a whole name."""
    if "of" not in words[2:] or words[1][0].isupper():
        return False
    name = words[words.index("of") + 1 :]
    return all(word[0].isupper() or word in ("the", "of", "and") for word in name)


def _is_date(words: Sequence[str], previous: str) -> bool:
    """Return whether lower-case words are a date, a month after "in", or a year."""
    if len(words) == 1 and words[0] in _MONTHS and previous != "in":
        return False
    known = [bool(_YEAR.fullmatch(word)) or word in _MONTHS for word in words]
    others = (bool(_DAY.fullmatch(word)) or word == "of" for word in words)
    return any(known) and all(a or b for a, b in zip(known, others, strict=True))


def _is_phrase(words: Sequence[str]) -> bool:
    """Return whether lower-case words have no verb outside a relative clause, and no open end."""
    if words[-1].endswith(("ed", "ing")) or words[-1] in _OPEN_ENDS:
        return False
    for at, word in enumerate(words):
        if word in _RELATIVE:
            return at + 1 < len(words)
        if word in _CLAUSE or word in ("and", "or"):
            return False
    return True
