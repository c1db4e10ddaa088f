"""Pieces of English sentences: what can be cut off so that what stays is whole and still true."""

from __future__ import annotations

import re
from functools import lru_cache

from admiral.synthesis.english_words import DANGLING, PARTICIPLES, PREPOSITIONS, VERBS

_PARENTHESIS = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]")
_SPACE = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.;:])")
_DOUBLED = re.compile(r",(?:\s*,)+")
LONGEST_SENTENCE = 500  # characters

_VERB = "|".join(sorted(VERBS))
_JOINT = re.compile(
    r", (?!\d|(?:Jr|Sr|Inc|Ltd)\b)|;|$"
    rf"| (?:and|but) (?=(?:{_VERB}|[a-z]+ed)\b)"
    r"| (?:who|which|that|whose|where|when|while)\b"
    rf"| (?:{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b"
)
# What a wiki leaves behind, speech, and clauses that are interrupted: "the state that, with ...".
_UNREADABLE = re.compile(r'[()\[\]{}|:“”„]|""|\.\.|,\.')
_BEFORE_COMMA = re.compile(r"([a-z]+),")
_HALF = re.compile(r"\b(?:that|who|which) [\w-]+$")
_HINGES = frozenset({"who", "which", "that", "whose", "where", "when", "while"})


def without_parentheses(text: str) -> str:
    """Return `text` on one line without parentheses, brackets and the marks that they leave."""
    for _ in range(3):
        text, count = _PARENTHESIS.subn("", text)
        if not count:
            break
    text = _BEFORE_MARK.sub(r"\1", _SPACE.sub(" ", text))
    return _DOUBLED.sub(",", text).strip()


def readable(text: str) -> bool:
    """Return whether a sentence without parentheses is of a shape that can be taken apart."""
    return (
        len(text) <= LONGEST_SENTENCE
        and text.count('"') % 2 == 0
        and not _UNREADABLE.search(text)
        and DANGLING.isdisjoint(_BEFORE_COMMA.findall(text))
    )


@lru_cache(4096)
def piece_ends(text: str, start: int = 0) -> tuple[int, ...]:
    """Return the places from `start` on at which `text` may end, ascending.

    Before a comma, a relative clause, a second verb, a preposition or a participle, and at the end
    of the text, if the last word is one that can stand there and no quotation is open.
    """
    return tuple(
        joint.start()
        for joint in _JOINT.finditer(text, start)
        if joint.start() and _can_end(text[: joint.start()], joint.group().strip())
    )


def _can_end(piece: str, joint: str) -> bool:
    last = piece.rsplit(" ", 1)[-1].strip('"')
    if last.lower() in DANGLING or _HALF.search(piece) or not last[-1:].isalnum():
        return False
    if piece.count('"') % 2:
        return False
    if joint == "that" and not piece.startswith(("a ", "an ", "the ", "one ")):
        return False  # "showed in 1897 | that": what was shown
    if joint in PREPOSITIONS or joint in _HINGES:
        # "was released | in", "began | with": the verb needs what follows.
        return not last.endswith(("ed", "ing", "ly")) and last not in VERBS
    if joint in PARTICIPLES:
        return last not in VERBS and not last.endswith("ly")
    return True


def words(text: str) -> int:
    """Return the number of words."""
    return text.count(" ") + 1 if text else 0


def joined(*parts: str) -> str:
    """Return parts as one text: single spaces, none before marks, commas never doubled."""
    text = _SPACE.sub(" ", " ".join(part for part in parts if part))
    return _DOUBLED.sub(",", _BEFORE_MARK.sub(r"\1", text)).strip()


def sentence(text: str) -> str:
    """Return a clause as a sentence: a capital at its start, a full stop at its end."""
    text = text.rstrip(" ,;.")
    mark = "" if text.endswith(("?", "!")) else "."
    return text[:1].upper() + text[1:] + mark
