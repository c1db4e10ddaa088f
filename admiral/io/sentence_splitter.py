"""Split English prose into sentences by rules, in time linear in the length of the text.

A sentence ends at ``.``, ``!``, ``?`` or an ellipsis, including closing quotes, brackets and note
marks (``[1]``), if white space and a possible start of a sentence follow. It also ends at the full
stops of East Asia and India, and at a blank line.

What follows decides whether a full stop ends an abbreviation or a sentence. After ``Dr.`` or
``e.g.`` it never ends one, after ``Fig.`` or ``pop.`` not
before a number, and after an initial, an
acronym or a suffix (``J.``, ``U.S.``, ``Inc.``) only before a common first word of a sentence.
Words such as ``art``, ``sat`` and ``fig`` in lower case are words.

Sentences that a corpus gives keep their numbers, since gold evidence refers to them, unless they
are too long to be read by a model.

A sentence has at most `LONGEST_SENTENCE` characters: longer ones, which are tables, lists or data
rather than prose, are split at white space. Otherwise a single one could fill the memory of the
models that read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import yaml

from admiral.records import Document

_TEXT = (files("admiral") / "io" / "sentence_words.yaml").read_text("utf-8")
_WORDS = {name: frozenset(words.split()) for name, words in yaml.safe_load(_TEXT).items()}


LONGEST_GIVEN_SENTENCE = 10_000  # characters


def split_long_sentences(document: Document) -> tuple[Document, int]:
    """Split the sentences longer than `LONGEST_GIVEN_SENTENCE` at white space.

    The links of a sentence stay with its first part. Returns the same document if no sentence is
    too long. Returns number of sentences that were split.
    """
    split = sum(len(sentence) > LONGEST_GIVEN_SENTENCE for sentence in document.sentences)
    if not split:
        return document, 0
    parts = [
        (number, start, end)
        for number, sentence in enumerate(document.sentences)
        for start, end in bounded_spans(sentence, 0, len(sentence), LONGEST_GIVEN_SENTENCE)
    ]
    changed = replace(
        document,
        sentences=tuple(document.sentences[number][start:end] for number, start, end in parts),
        links=tuple(document.links[n] if not start else () for n, start, _ in parts)
        if document.links
        else (),
        sections=tuple(document.sections[n] for n, *_ in parts) if document.sections else (),
        offsets=tuple(document.offsets[n] + start for n, start, _ in parts)
        if document.offsets
        else (),
    )
    return changed, split


_NOTE_MARK = r"\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,3}|[a-z ]{0,20}needed)\]"
_END = re.compile(
    rf"[.!?…]++[\"'”’“‘»«›‹)\]]*+(?P<note>(?:{_NOTE_MARK})++|[⁰¹²³⁴-⁹]++)?+"
    r"|[。！？।॥۔؟።။។]++[」』”’）]*+|\n[^\S\n]*+\n\s*+"
)
_WORD_BEFORE = re.compile(r"[^\s\"'“‘„«(\[/–—-]+$")
_WORD_AFTER = re.compile(r"[\"'“‘„«(\[]*([^\W_]+)?")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]", re.UNICODE)
# The number of an item: "1. Wash the pan. 2. Dry it."
_ITEM_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})")
_BRAND = re.compile(r"[a-z]{1,5}[A-Z]")  # iPod, eBook, mRNA
_LIKE_NUMBER = re.compile(r"\d|[IVXLC]+$|[A-Z]\d*$")
_BEFORE_LETTER = re.compile(r"([^\W\d_]+) ([A-Z])$")
_COMMON_NOUN = re.compile(r"[A-Z][a-z]+(?:ers|ors|ists|men|ies|ings|ants|ents)$")
_NAME = r"(?:[A-Z]\.|[^\W\d_a-z][\w'’-]+)"
_SPEAKER = re.compile(
    rf"\s{{1,4}}{_NAME}(?: {_NAME}){{0,2}} (?:{'|'.join(sorted(_WORDS['saying']))})\b"
)
_LONGEST_WORD = 40
_CONTEXT = 60  # characters before a mark that are looked at
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

    `begin`, `end`: offsets of the sentence, which neither begins nor ends with white space.
    `longest`: maximum number of characters. Text without white space is cut at any character.
    """
    while end - begin > longest:
        cut = _last_space(text, begin, begin + longest)
        yield begin, begin + len(text[begin:cut].rstrip())
        begin = cut
        while text[begin].isspace():
            begin += 1
    yield begin, end


def _last_space(text: str, begin: int, end: int) -> int:
    for position in range(end, (begin + end) // 2, -1):
        if text[position].isspace():
            return position
    return end


def _is_sentence_end(text: str, start: int, match: re.Match[str]) -> bool:
    mark, end = match.group(), match.end()
    if mark[0] not in ".!?…" or end >= len(text):
        return True
    if not text[end].isspace():  # decimals, host names, "U.S.-based"
        return bool(match["note"]) and text[end].isupper()
    following = _next_word(text, end)
    if following is None or (following[:1].islower() and not _BRAND.match(following)):
        return False
    before = text[max(start, match.start() - _CONTEXT) : match.start()]
    if mark[0] != "." or mark.startswith(".."):
        return not _goes_on(text, before, mark, following, end)
    return not _is_abbreviated(before, following) and not (
        match.start() - start < _LONGEST_WORD
        and _ITEM_NUMBER.fullmatch(text, start, match.start())
        and following[:1].isupper()
    )


def _goes_on(text: str, before: str, mark: str, following: str, end: int) -> bool:
    if mark[-1] in "\"”’'“»«":
        return mark[0] in "!?" and bool(_SPEAKER.match(text, end))
    if mark != "!":
        return False
    words = before.split()[-2:]
    named = len(words) == 2 and words[0] in _WORDS["types_of_names"] and words[1][:1].isupper()
    if named or (words and words[-1] in _WORDS["named_with_mark"]):
        return following.lower() not in _WORDS["starters"]
    return following in _WORDS["company_suffixes"]


def _is_abbreviated(before: str, following: str) -> bool:
    match = _WORD_BEFORE.search(before[-_LONGEST_WORD:])
    if match is None:
        return False
    word, starts = match.group(), following.lower() in _WORDS["starters"]
    lower, is_lower = word.lower(), word.islower()
    is_number = bool(_LIKE_NUMBER.match(following)) and not starts
    if lower in _WORDS["never"] or (lower in _WORDS["before_name"] and not is_lower):
        return True
    if lower in _WORDS["units"] and following[:1].isdigit():
        return before[: -len(word)].rstrip()[-1:].isdigit()
    if lower in _WORDS["words"] and is_lower:
        return False
    if lower == "no":  # also an answer
        return is_number
    if lower in _WORDS["before_number"]:
        return is_number or not (is_lower or starts)
    if lower in _WORDS["dates"] and not is_lower:
        return not starts
    if word.isdigit():
        return len(word) < 3 and following in _WORDS["german_months"]
    if lower in _WORDS["clock"]:
        return following in _WORDS["after_clock"] or following[:1].isdigit()
    if lower in _WORDS["before_name"] or lower in _WORDS["either"]:
        return not starts
    if _INITIALS.fullmatch(word):
        return not (starts or _is_label(before, following))
    return False


def _is_label(before: str, following: str) -> bool:
    match = _BEFORE_LETTER.search(before)
    if match is None:
        return False
    if match[1].lower() in _WORDS["numbered_things"]:
        return True
    return (
        match[1] in _WORDS["rulers"] and match[2] in "IVX" and bool(_COMMON_NOUN.match(following))
    )


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
