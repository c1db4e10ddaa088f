"""Clauses of a text as sequences of the items that carry their content: words and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from proofs.lexicons.quantifiers import Amounts
from proofs.logic.words import STOP_WORDS, normalise, stems, word_list
from proofs.verifier.exact.stated_values import Value, find_values

_TOKEN = re.compile(
    r"[0-9]{4}['’]s|[0-9]+(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+\.[0-9]+|[0-9]+(?:st|nd|rd|th|s)?(?![0-9a-z])|[0-9]+"
    r"|(?:[^\W\d_]\.){2,}|[^\W\d_](?:[^\W_]|['’](?=[^\W_]))*|\S"
)
_SENTENCE_END = re.compile(r"(?<=[\w)\"'”’][.!?])\s+(?=[\"“']?[A-Z0-9])|;\s+")
_ABBREVIATION = re.compile(r"(?:\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Jr|Sr|vs|No|Gen|Col|Lt|Capt)\.)$")
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_DATE = r"(?:[0-9]{1,2}\s+[A-Z][a-z]+\s+|[A-Z][a-z]+\s+[0-9]{1,2},?\s*)?[12][0-9]{3}"
_LIFE = re.compile(
    r"(?P<name>[^(),;:]{2,80}?)\s*\((?:[^()0-9]*[;,]\s*)?(?P<word>born|b\.)?\s*(?:on\s+)?"
    rf"(?P<birth>{_DATE})(?:\s*[-–—]+\s*(?:died\s+)?(?P<death>{_DATE}))?\s*\)"
)

# Superlatives rank what they describe: "the longest" is the first, "the second longest" not.
_SUPERLATIVE = re.compile(r"[a-z]{2,}est|most|least|worst")
_NOT_SUPERLATIVE = word_list(
    """
    west east forest test request interest guest protest contest honest modest harvest arrest invest
    quest nest priest northwest southwest midwest everest budapest manifest conquest rest chest
    nearest latest arrest divest suggest digest earnest jest pest vest zest crest unrest bequest
    """
)

# Words that are compared though they are stop words: they decide what a sentence says.
_DECIDING = word_list(
    """
    above after all against any before below both each few further if more most no not off once
    only other out over own same some such than under until up down while because can could may
    might should will would here now just again then where when if
    """
)
_FUNCTION_WORDS = (STOP_WORDS - _DECIDING) | word_list(
    "within upon onto toward towards among via per 's s he's she's it's etc"
)
PREPOSITIONS = word_list(
    "in on at by of from to with for into through during between about as since till within upon "
    "onto among via per toward towards 's than without against"
)
# The first of a group stands for all of it.
_ALIKE = (("in", "on", "at", "during", "within"), ("from", "since"), ("to", "till"))
_PREPOSITION_CLASS = {word: group[0] for group in _ALIKE for word in group}
NEGATIONS = word_list("not never no none neither nor without cannot nobody nothing nowhere")
PRONOUNS = word_list("i me my you your he she it we us our they him her his its them their")
_POSSESSIVES = word_list("its his her their")
_SYMBOLS = word_list("+ # = / _ @ * ^ < > \\ |")
# "The film was released": what a text may call its subject after the first sentence.
_NOUNS_FOR_SUBJECT = word_list(
    """
    film movie album song single band book novel series show game company city town village actor
    actress singer team club player episode magazine school university river mountain island bridge
    building church museum country state district county province region building station ship
    """
)


@dataclass(frozen=True, slots=True)
class Item:
    """A content word or a value of a clause."""

    text: str
    norm: str  # the normalised word; empty for values
    stems: frozenset[str]
    value: Value | None  # the value, or None for words
    # The function words and punctuation marks, normalised, since the previous item.
    before: tuple[str, ...]

    @property
    def preposition(self) -> str:
        """The last preposition before the item, in the form that stands for all like it."""
        for word in reversed(self.before):
            if word in PREPOSITIONS:
                return _PREPOSITION_CLASS.get(word, word)
        return ""

    @property
    def is_name(self) -> bool:
        """Whether the item is a word with a capital letter."""
        return self.value is None and self.text[:1].isupper()

    @property
    def is_negation(self) -> bool:
        """Whether the item negates."""
        return self.norm in NEGATIONS


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence, or a part of one that could be a sentence."""

    items: tuple[Item, ...]
    # The number of leading items that name the subject and come from the title.
    subject_end: int = 0
    tail: tuple[str, ...] = ()  # the words and punctuation after the last item


@lru_cache(maxsize=4096)
def read_clause(text: str) -> Clause:
    """Return a text as one clause."""
    spans, tokens, words = [], [], []
    for match in _TOKEN.finditer(text):
        token = match[0]
        word = token.lower() if token.isascii() and token.isalnum() else _normal(token)
        for part in _contracted(word):
            spans.append(match.span())
            tokens.append(token)
            words.append(part)
    values = {value.start: value for value in find_values(words, tokens)}
    items: list[Item] = []
    before: list[str] = []
    at = 0
    while at < len(words):
        value = values.get(at)
        if value is not None:
            written = text[spans[value.start][0] : spans[value.end - 1][1]]
            items.append(Item(written, "", frozenset(), value, tuple(before)))
            before, at = [], value.end
            continue
        word = words[at]
        if not (word[0].isalnum() or word in _SYMBOLS) or word in _FUNCTION_WORDS or word == "a":
            if word != "-":  # of a compound; values have read theirs
                before.append(word)
        else:
            if _is_superlative(word) and not (items and _is_rank(items[-1]) and not before):
                items.append(_first_rank(tokens[at], before, at))
                before = []
            items.append(Item(tokens[at], word, stems(word), None, tuple(before)))
            before = []
        at += 1
    return Clause(tuple(items), tail=tuple(before))


def clauses(title: str, text: str) -> Iterator[Clause]:
    """Yield the sentences of a text, with the title in place of words that refer to it.

    Brackets are left out, but the years of a life become sentences of their own: "Ada Lovelace
    (1815-1852) was" yields "Ada Lovelace was born on 1815".
    """
    name = _BRACKET.sub("", title).strip()
    for sentence in sentences(text):
        yield from _life(name, sentence)
        bare = _BRACKET.sub(" ", sentence) if "(" in sentence or "[" in sentence else sentence
        clause = read_clause(bare)
        named = with_subject(name, clause)
        yield named
        if named is not clause and clause.items[0].norm in _NOUNS_FOR_SUBJECT:
            yield clause
        if named is clause and (owned := _with_owner(name, clause)) is not None:
            yield owned


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; parts between semicolons count as sentences."""
    parts: list[str] = []
    for part in _SENTENCE_END.split(text):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += " " + part
        else:
            parts.append(part)
    return parts


def with_subject(name: str, clause: Clause) -> Clause:
    """Return a clause with the name of its document as its subject, if its words refer to it."""
    if not name or not clause.items:
        return clause
    subject = read_clause(name).items
    if not subject:
        return clause
    first = clause.items[0]
    known = frozenset().union(*(item.stems for item in subject))
    end = 0
    while end < len(clause.items) and _continues_name(clause.items[end], known, first=end == 0):
        end += 1
    if end == 0 and not ({"he", "she", "it", "they"} & set(first.before[:1])):
        if first.norm not in _NOUNS_FOR_SUBJECT or first.before not in (("the",), ("this",)):
            return clause
        end = 1
    rest = clause.items[end:]
    if end == 0:  # the pronoun goes
        rest = (replace(first, before=first.before[1:]), *rest[1:])
    return replace(clause, items=(*subject, *rest), subject_end=len(subject))


def _with_owner(name: str, clause: Clause) -> Clause | None:
    """Return "the dome of NAME was built" for "its dome was built", or None for other clauses."""
    if not name or not clause.items or _POSSESSIVES.isdisjoint(clause.items[0].before):
        return None
    owner = read_clause(name).items
    if not owner:
        return None
    owned = replace(clause.items[0], before=("the",))
    first = replace(owner[0], before=("of",))
    items = (owned, first, *owner[1:], *clause.items[1:])
    return replace(clause, items=items, subject_end=1 + len(owner))


def _continues_name(item: Item, known: frozenset[str], *, first: bool) -> bool:
    if not item.stems or not item.stems <= known:
        return False
    return not item.before or item.before == ("the",) if first else not set(item.before) & {","}


def _life(name: str, sentence: str) -> Iterator[Clause]:
    match = _LIFE.match(sentence) if "(" in sentence else None
    # A year alone in brackets is a birth only if the text says so, and a span of bare years may be
    # a term of office.
    if match is None or (not match["word"] and (not match["death"] or len(match["birth"]) == 4)):
        return
    yield with_subject(name, read_clause(f"{match['name']} was born on {match['birth']}"))
    if match["death"]:
        yield with_subject(name, read_clause(f"{match['name']} died on {match['death']}"))


def _is_superlative(word: str) -> bool:
    return bool(_SUPERLATIVE.fullmatch(word)) and word not in _NOT_SUPERLATIVE


def _is_rank(item: Item) -> bool:
    return item.value is not None and item.value.kind == "rank"


def _first_rank(token: str, before: Sequence[str], at: int) -> Item:
    first = Amounts((1, 0), (1, 0))
    # "One of the longest" and "a most unusual" name no rank.
    is_only = "the" in before[-1:] and before[-2:-1] != ["of"]
    rank = Value("rank", first if is_only else None, first, at, at)
    return Item(token, "", frozenset(), rank, tuple(before))


def _contracted(word: str) -> Sequence[str]:
    if word.endswith("n't") and len(word) > 3:
        return (word[:-3], "not") if word != "can't" else ("can", "not")
    if word == "cannot":
        return ("can", "not")
    if word.endswith("'s") and word[0].isdigit():
        return (word[:-2] + "s",)  # "the 1930's"
    if word.endswith("'s") and len(word) > 2:
        return (word[:-2], "'s")
    return (word,)


def _normal(token: str) -> str:
    if not token[0].isalnum():
        return token
    # `normalise` drops the possessive ending, which decides who did it.
    possessive = token.endswith(("'s", "’s"))
    return (normalise(token) or token.lower()) + ("'s" if possessive else "")
