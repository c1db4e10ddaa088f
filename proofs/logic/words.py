"""Words of texts, where words are quoted, and the clauses that sentences can do without.

Words have positions, normal forms and stems; some are stop words or negations. Without some of its
clauses, a sentence is still complete and true.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer  # type: ignore[import-untyped]

# Words are separated by white space; claim and evidence spans end at word ends.
_WORD = re.compile(r"\S+")
_COMPOUND_MARKS = re.compile(r"[-‐-―/·]+")
_STEMMER = snowballstemmer.stemmer("english")


def word_list(text: str) -> frozenset[str]:
    """Return the words of a list that is written as running text."""
    return frozenset(text.split())


STOP_WORDS = word_list(
    """
    a about above after against all also am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further had
    has have having he her here hers herself him himself his how i if in into is it its itself just
    may me might more most must my myself now of off on once only or other our ours out
    over own shall she should so some such than that the their theirs them themselves then there
    these they this those through to too under until up upon us very was we were what when where
    which while who whom whose why will with within would you your yours
    """
)
#: Words that negate a statement. They are content words: "not" decides a claim.
NEGATIONS = word_list(
    "not no never none neither nor nobody nothing nowhere hardly without cannot n't isn't wasn't "
    "aren't weren't doesn't didn't don't hasn't haven't hadn't won't wouldn't can't couldn't "
    "failed fails refused refuses denied denies lacks lacked"
)


AUXILIARIES = word_list(
    "is are was were be been being am has have had does do did will would can could may might must "
    "shall should isn't wasn't aren't weren't doesn't didn't don't"
)
#: Those that may end a clause are `PREPOSITIONS`.
ALL_PREPOSITIONS = word_list(
    "about above after against along among around as at before behind below beside between beyond "
    "by despite down during for from in inside into like near of off on onto outside over per "
    "since through throughout to toward towards under until up upon via with within without"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, or a punctuation mark beside one."""

    # characters ``[start, end)`` of the text
    start: int
    end: int
    index: int  # the number of the white-space-separated word that this one is part of
    # the word in lower case without accents, possessive ending or outer punctuation; empty for
    # punctuation
    norm: str

    @property
    def is_content(self) -> bool:
        """Whether the word is neither punctuation nor a stop word."""
        return is_content(self.norm)


@lru_cache(maxsize=65536)
def is_content(norm: str) -> bool:
    """Return whether a normalised word is neither punctuation nor a stop word."""
    return norm not in STOP_WORDS and any(c.isalnum() for c in norm)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the white-space-separated words of `text`."""
    return [m.span() for m in _WORD.finditer(text)]


def locate_spans(text: str, spans: Iterable[str]) -> list[tuple[int, int]]:
    """Return the characters ``[start, end)`` of spans that follow one another in a text.

    Raises `ValueError` if a span does not occur in the text after the previous one.
    """
    places, end = [], 0
    for span in spans:
        start = text.index(span, end)
        end = start + len(span)
        places.append((start, end))
    return places


# Longer texts are not kept, so that no request can fill the memory.
_LONGEST_CACHED = 400


def split_words(text: str) -> list[Word]:
    """Split a text into words and the punctuation marks around them.

    ``"Seth Meyers (born 1973),"`` is split into ``Seth Meyers ( born 1973 ) ,``.
    """
    return list(_split_short(text) if len(text) <= _LONGEST_CACHED else _split(text))


@lru_cache(maxsize=4096)  # a proof splits the same spans and sentences hundreds of times
def _split_short(text: str) -> tuple[Word, ...]:
    return _split(text)


def _split(text: str) -> tuple[Word, ...]:
    words: list[Word] = []
    for index, (start, end) in enumerate(word_spans(text)):
        left, right = start, end
        while left < end and _is_punctuation(text[left]):
            left += 1
        while right > left and _is_punctuation(text[right - 1]):
            right -= 1
        words.extend(Word(i, i + 1, index, "") for i in range(start, left))
        if left < right:
            words.append(Word(left, right, index, normalise(text[left:right])))
        words.extend(Word(i, i + 1, index, "") for i in range(right, end))
    return tuple(words)


def has_content(text: str) -> bool:
    """Return whether a text has a word that is not a stop word."""
    return any(word.is_content for word in split_words(text))


@lru_cache(maxsize=65536)
def normalise(word: str) -> str:
    """Return a word in lower case without accents, possessive ending or outer punctuation."""
    if word.isascii() and word.isalnum():
        return word.lower()
    # The stemmer rejects lone surrogates.
    encodable = word.encode("utf-8", "replace").decode("utf-8")
    folded = unicodedata.normalize("NFKD", encodable.casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c)).replace("’", "'")
    plain = plain.strip("".join({c for c in plain if _is_punctuation(c)}))
    return plain.removesuffix("'s")


@lru_cache(maxsize=65536)
def stems(norm: str) -> frozenset[str]:
    """Return the Snowball stems of a normalised word and of the parts of a compound."""
    parts = [part for part in _COMPOUND_MARKS.split(norm) if any(c.isalnum() for c in part)]
    whole = norm[:64]  # stemming time grows with length, and no real word is longer
    return frozenset(_STEMMER.stemWord(part[:64]) for part in [whole, *parts] if part)


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are not stop words."""
    return frozenset(s for word in split_words(text) if word.is_content for s in stems(word.norm))


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char).startswith("P")


@dataclass(frozen=True, slots=True)
class Quotation:
    """The place of quoted words."""

    title: str  # the title of the document, which may be empty
    # the number of the sentence in its document; of given evidence, in the list of sentences
    sentence_id: int
    # characters ``[start, end)`` of the sentence, or of the title
    start: int
    end: int
    # whether the words are those of the title, which the sentence is read with
    in_title: bool = False


def find_quotation(
    quoted: str, evidence: Sequence[tuple[str, str]], preferred: str | None = None
) -> Quotation | None:
    """Return where words stand in evidence, with the number of the sentence in it.

    Whole words come before parts of words ("art" in "started"), then sentences of the document that
    is preferred, sentences before titles, and the first of several.

    `evidence`: pairs of title and sentence. `preferred`: the title of the document that the step
    before quotes.

    None if the evidence does not contain the words.
    """
    for whole in (True, False):
        found = [
            Quotation(title, number, start, start + len(quoted), in_title)
            for in_title in (False, True)
            for number, (title, text) in enumerate(evidence)
            if (start := _find(title if in_title else text, quoted, whole=whole)) >= 0
        ]
        if found:
            return next((one for one in found if one.title == preferred), found[0])
    return None


def _find(text: str, quoted: str, *, whole: bool) -> int:
    """Return where a text has some words, as whole words if that is asked for; -1 without them."""
    start = text.find(quoted)
    while whole and start >= 0:
        beside = text[max(start - 1, 0) : start] + text[start + len(quoted) :][:1]
        if not any(character.isalnum() or character == "_" for character in beside):
            break
        start = text.find(quoted, start + 1)
    return start


#: Verbs that a predicate may begin with, in addition to regular past tenses.
VERBS = word_list(
    """
    is was are were has had became won wrote made led ran sang played plays stars features contains
    includes lies stands took takes held holds grew rose fell built drew met began begins spent left
    taught fought broke gave came went sold owns lives works serves hosts runs leads forms belongs
    covers borders connects appears focuses follows tells consists comprises received
    deals shares represents provides operates produces offers broadcasts competes remains writes
    """
)
#: Adverbs that may precede the verb.
ADVERBS = word_list(
    "later currently originally first subsequently previously now once still primarily mainly "
    "formerly eventually soon initially best also then officially usually often mostly"
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
#: Participles that may follow a noun: "a film directed by ...".
PARTICIPLES = word_list(
    """
    based located situated directed written produced published released founded developed created
    born held played known recorded built set composed performed hosted led owned operated named
    shot drawn written established designed edited distributed broadcast starring featuring
    appearing playing
    """
)
PREPOSITIONS = word_list(
    "in on at by from with for during after before since until near alongside under about"
)
#: Words that cannot end a clause.
DANGLING = (
    word_list(
        """
    year years day days month months week weeks time kilometres kilometers miles metres
    a an the of and or but with to in on at by from for as is was are were be been has had not
    best most more very well also its his her their than that which who whose where when known
    both either such between into under over about one two three part member series number only
    any some every each other another same including like called named titled no current first
    second third often usually not if there
    """
    )
    | PARTICIPLES
    | ADVERBS
)
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
