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
    if _is_date(lower):
        return "When?"
    if previous in _COPULAS or lower[-1] in _PREPOSITIONS or not _is_phrase(lower):
        return None
    article, rest = lower[0], " ".join(words[1:])
    if article in ("a", "an") and len(words) > 1 and lower[1] not in _UNASKED:
        return f"Which {rest}?"
    if article == "the" and _is_of_a_name(words) and lower[1] not in _UNASKED:
        who = "Who" if _PEOPLE & set(lower[1 : lower.index("of")]) else "What"
        return f"{who} is the {rest}?"
    return None


def _is_of_a_name(words: Sequence[str]) -> bool:
    """Return whether a phrase such as "the author of The Bell Jar" ends with a whole name."""
    if "of" not in words[2:] or words[1][0].isupper():
        return False
    name = words[words.index("of") + 1 :]
    return all(word[0].isupper() or word in ("the", "of", "and") for word in name)


def _is_date(words: Sequence[str]) -> bool:
    """Return whether lower-case words are a date or a year, and nothing else."""
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
