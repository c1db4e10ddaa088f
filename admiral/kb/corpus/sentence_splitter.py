"""Split English prose into sentences by rules, in time linear in the length of the text.

A sentence ends at ``.``, ``!``, ``?`` or an ellipsis, including closing quotes and brackets, if
white space and a possible start of a sentence follow. It also ends at an East Asian full stop and
at a blank line. A full stop after a title or a reference (``Dr.``, ``No.``) never ends a sentence.
After an initial, an acronym or a suffix (``J.``, ``U.S.``, ``Inc.``) it does only if the next word
is a common first word of a sentence.

A sentence has at most `LONGEST_SENTENCE` characters: longer ones, which are tables, lists or data
rather than prose, are split at white space. Otherwise a single one could fill the memory of the
models that read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Lower-case words before a full stop. These precede a name or a number.
_NEVER = _words(
    "mr mrs ms mx dr prof rev hon gov sen rep pres gen col maj capt cmdr lt sgt cpl adm st ste mt "
    "ft no nos vol vols p pp fig figs eq sec ch art op cf vs viz eg e.g ie i.e c ca b r approx "
    "jan feb mar apr jun jul aug sept oct nov dec mon tue tues wed thu thur thurs fri sat "
    "messrs mme mlle fr msgr supt insp"
)
# These occur both at the end of a sentence and within one.
_MAYBE = _words(
    "inc ltd co corp bros plc llc jr sr esq etc al est dept univ assn ave blvd rd hwy a.m p.m "
    "ph.d m.d b.a m.a b.s m.s d.c u.s u.k u.n e.u b.c a.d"
)
_STARTERS = _words(
    "a after although an and as at before both but by during each for from he her his however i if "
    "in it its later many most no of on one other our she since so some such that the their then "
    "there these they this those though to two under until we what when where while who with you "
    "your"
)
_END = re.compile(r"[.!?…]++[\"'”’»)\]]*+|[。！？]++[」』”’）]*+|\n[^\S\n]*+\n\s*+")
_WORD_BEFORE = re.compile(r"[^\s\"'“‘«(\[/–—-]+$")
_WORD_AFTER = re.compile(r"[\"'“‘«(\[]*([^\W_]+)?")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]", re.UNICODE)
_LONGEST_WORD = 40
LONGEST_SENTENCE = 2000  # characters


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) character offsets of each sentence, without surrounding white space.

    Spans are ascending, do not overlap, are never empty, and omit nothing but white space.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if match.start() < start or not _is_sentence_end(text, start, match):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text` in order; an empty text has none."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return
    begin = start + len(piece) - len(piece.lstrip())
    spans.extend(bounded_spans(text, begin, begin + len(stripped), LONGEST_SENTENCE))


def bounded_spans(text: str, begin: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Split a sentence at white space into spans of at most `longest` characters.

    Parameters
    ----------
    text
        The text.
    begin, end
        Offsets of the sentence, which neither begins nor ends with white space.
    longest
        Maximum number of characters. Text without white space is cut at any character.
    """
    while end - begin > longest:
        cut = _last_space(text, begin, begin + longest)
        yield begin, begin + len(text[begin:cut].rstrip())
        begin = cut
        while text[begin].isspace():
            begin += 1
    yield begin, end


def _last_space(text: str, begin: int, end: int) -> int:
    """Return the position of the last white space in the second half of a range, or `end`."""
    for position in range(end, (begin + end) // 2, -1):
        if text[position].isspace():
            return position
    return end


def _is_sentence_end(text: str, start: int, match: re.Match[str]) -> bool:
    mark, end = match.group(), match.end()
    if mark[0] == "\n" or mark[0] in "。！？":
        return True
    if end >= len(text):
        return True
    if not text[end].isspace():  # decimals, host names, "U.S.-based"
        return False
    following = _next_word(text, end)
    if following is None or following[:1].islower():
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = _WORD_BEFORE.search(text[max(start, match.start() - _LONGEST_WORD) : match.start()])
    if before is None:
        return True
    word = before.group()
    if word.lower() in _NEVER and not (word.lower() == "no" and not following[:1].isdigit()):
        return False
    if _INITIALS.fullmatch(word) or word.lower() in _MAYBE:
        return following.lower() in _STARTERS
    return True


def _next_word(text: str, end: int) -> str | None:
    """Return the word after the white space at `end`, or "" if a punctuation mark follows.

    Return None at the end of the text, or if the mark cannot begin a sentence.
    """
    while end < len(text) and text[end].isspace():
        end += 1
    if end >= len(text) or text[end] in ",;:.)]":
        return None
    match = _WORD_AFTER.match(text, end, end + _LONGEST_WORD)
    return "" if match is None else (match.group(1) or "")
