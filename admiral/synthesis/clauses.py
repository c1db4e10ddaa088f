"""Splitting of English sentences into clauses whose removal leaves a complete, true sentence."""

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
_BOUNDARY = re.compile(
    r", (?!\d|(?:Jr|Sr|Inc|Ltd)\b)|;|$"
    rf"| (?:and|but) (?=(?:{_VERB}|[a-z]+ed)\b)"
    r"| (?:who|which|that|whose|where|when|while)\b"
    rf"| (?:{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b"
)
# Wiki markup, quotations and interrupted clauses such as "the state that, with ...".
_UNREADABLE = re.compile(r'[()\[\]{}|:“”„]|""|\.\.|,\.')
_BEFORE_COMMA = re.compile(r"([a-z]+),")
_INCOMPLETE_END = re.compile(r"\b(?:that|who|which) [\w-]+$")
_RELATIVE_WORDS = frozenset({"who", "which", "that", "whose", "where", "when", "while"})


def strip_parentheses(text: str) -> str:
    """Return `text` on one line without parentheses, brackets and the punctuation they leave."""
    for _ in range(3):
        text, count = _PARENTHESIS.subn("", text)
        if not count:
            break
    text = _BEFORE_MARK.sub(r"\1", _SPACE.sub(" ", text))
    return _DOUBLED.sub(",", text).strip()


def is_parsable(text: str) -> bool:
    """Return whether a sentence without parentheses has a shape that the rules can parse."""
    return (
        len(text) <= LONGEST_SENTENCE
        and text.count('"') % 2 == 0
        and not _UNREADABLE.search(text)
        and DANGLING.isdisjoint(_BEFORE_COMMA.findall(text))
    )


@lru_cache(4096)
def clause_ends(text: str, start: int = 0) -> tuple[int, ...]:
    """Return the offsets from `start` on at which `text` may be cut, in ascending order.

    A cut may be before a comma, a relative clause, a second verb, a preposition or a participle,
    and at the end of the text, if the last word can end a clause and no quotation is open.
    """
    return tuple(
        boundary.start()
        for boundary in _BOUNDARY.finditer(text, start)
        if boundary.start() and _can_end(text[: boundary.start()], boundary.group().strip())
    )


def _can_end(piece: str, boundary: str) -> bool:
    last = piece.rsplit(" ", 1)[-1].strip('"')
    if last.lower() in DANGLING or _INCOMPLETE_END.search(piece) or not last[-1:].isalnum():
        return False
    if piece.count('"') % 2:
        return False
    if boundary == "that" and not piece.startswith(("a ", "an ", "the ", "one ")):
        return False  # "showed in 1897 | that": the object would be missing
    if boundary in PREPOSITIONS or boundary in _RELATIVE_WORDS:
        # "was released | in", "began | with": the verb needs its complement.
        return not last.endswith(("ed", "ing", "ly")) and last not in VERBS
    if boundary in PARTICIPLES:
        return last not in VERBS and not last.endswith("ly")
    return True


def word_count(text: str) -> int:
    """Return the number of words."""
    return text.count(" ") + 1 if text else 0


def join_parts(*parts: str) -> str:
    """Join the parts with single spaces, without spaces before punctuation or doubled commas."""
    text = _SPACE.sub(" ", " ".join(part for part in parts if part))
    return _DOUBLED.sub(",", _BEFORE_MARK.sub(r"\1", text)).strip()


def to_sentence(text: str) -> str:
    """Return a clause as a sentence, with an initial capital and a full stop."""
    text = text.rstrip(" ,;.")
    mark = "" if text.endswith(("?", "!")) else "."
    return text[:1].upper() + text[1:] + mark
