"""Clauses of a text as sequences of items (words and values), and their alignment, in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from proofs.lexicons.values import WORDS, Amounts
from proofs.logic.words import STOP_WORDS, stems, word_list
from proofs.verifier.stated_values import Token, Value, later, tokens

_SENTENCE_END = re.compile(r"(?<=[\w)\"'”’][.!?])\s+(?=[\"“']?[A-Z0-9])|;\s+")
_ABBREVIATION = re.compile(r"(?:\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Jr|Sr|vs|No|Gen|Col|Lt|Capt)\.)$")
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_DATE = r"(?:[0-9]{1,2}\s+[A-Z][a-z]+\s+|[A-Z][a-z]+\s+[0-9]{1,2},?\s*)?[12][0-9]{3}"
_LIFE = re.compile(
    r"(?P<name>[^();:]{2,80}?)\s*\((?:[^()0-9]*[;,]\s*)?(?P<word>born|b\.)?\s*(?:on\s+)?"
    rf"(?P<birth>{_DATE})(?:\s*[-–—]+\s*(?:died\s+)?(?P<death>{_DATE}))?\s*\)"
)

# Superlatives rank what they describe: "the longest" is the first, "the second longest" not.
_SUPERLATIVE = re.compile(r"[a-z]{2,}est|most|least|worst")
_NOT_SUPERLATIVE = word_list(WORDS["not-superlative"])

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


@dataclass(frozen=True, slots=True)
class Item:
    """A content word or a value of a clause."""

    text: str
    norm: str  # the normalised word; empty for values
    stems: frozenset[str]
    value: Value | None  # the value, or None for words
    # The function words and punctuation marks, normalised, since the previous item.
    before: tuple[str, ...]
    # characters ``[start, end)`` of the text, or of the title
    start: int
    end: int
    in_title: bool = False

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

    @property
    def date(self) -> Value | None:
        """The value, if it is a date."""
        return self.value if self.value is not None and self.value.kind == "date" else None


def word(norm: str, text: str, at: int, before: tuple[str, ...] = ()) -> Item:
    """Return an item for a word that a text means at a place, and does not write."""
    return Item(text, norm, stems(norm), None, before, at, at)


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
    return _clause(text, tokens(text))


def _clause(text: str, read: Sequence[Token]) -> Clause:
    items: list[Item] = []
    before: list[str] = []
    for norm, start, end, value in read:
        written = text[start:end]
        if value is None and _is_function_word(norm):
            if norm != "-":  # of a compound; values have read theirs
                before.append(norm)
            continue
        is_ranked = not before and items and items[-1].value and items[-1].value.kind == "rank"
        if _SUPERLATIVE.fullmatch(norm) and norm not in _NOT_SUPERLATIVE and not is_ranked:
            # "One of the longest" and "a most unusual" name no rank.
            is_only = "the" in before[-1:] and before[-2:-1] != ["of"]
            rank = Value("rank", _FIRST if is_only else None, _FIRST)
            items.append(Item(written, "", frozenset(), rank, tuple(before), start, end))
            before = []
        known = frozenset[str]() if value else stems(norm)
        items.append(Item(written, norm, known, value, tuple(before), start, end))
        before = []
    return Clause(tuple(items), tail=tuple(before))


_FIRST = Amounts((1, 0), (1, 0))


def _is_function_word(norm: str) -> bool:
    return not (norm[0].isalnum() or norm in _SYMBOLS) or norm in _FUNCTION_WORDS or norm == "a"


def clauses(title: str, text: str) -> Iterator[Clause]:
    """Yield the sentences of a text, with the title in place of words that refer to it.

    Brackets are left out, but the years of a life become sentences of their own: "Ada Lovelace
    (1815-1852) was" yields "Ada Lovelace was born on 1815".
    """
    name = tuple(
        replace(item, in_title=True) for item in read_clause(_BRACKET.sub("", title).strip()).items
    )
    dated: Value | None = None
    for start, sentence in sentences(text):
        shift = partial(_moved, start)
        for told in _life(name, sentence if start else text):
            told = shift(told)
            yield from [told] if told.subject_end else _named(name, told)
        bare = _BRACKET.sub(lambda match: " " * len(match[0]), sentence)
        clause, dated = _dated(shift(read_clause(bare)), dated)
        yield from _named(name, clause)


def _named(name: tuple[Item, ...], clause: Clause) -> Iterator[Clause]:
    named = _with_subject(name, clause)
    yield named
    if named is not clause:
        if len(named.items) < len(clause.items):
            yield clause  # which may have the name in full
    elif name and clause.items and not _POSSESSIVES.isdisjoint(clause.items[0].before):
        # "The dome of NAME was built" for "its dome was built".
        owned = replace(clause.items[0], before=("the",))
        items = (owned, replace(name[0], before=("of",)), *name[1:], *clause.items[1:])
        yield replace(clause, items=items, subject_end=1 + len(name))


def _moved(shift: int, clause: Clause) -> Clause:
    items = [
        one if one.in_title else replace(one, start=one.start + shift, end=one.end + shift)
        for one in clause.items
    ]
    return replace(clause, items=tuple(items))


def _dated(clause: Clause, dated: Value | None) -> tuple[Clause, Value | None]:
    """Return a clause with "two years later" as a year, given the last date, and its last date."""
    items: list[Item] = []
    for item in clause.items:
        time = items[-1].value if items else None
        if item.norm == "later" and not item.before and dated and time:
            year = later(dated, time)
            if year is not None:
                first = items.pop()
                item = replace(first, value=year, end=item.end, before=(*first.before, "in"))
        dated = item.date or dated
        items.append(item)
    return replace(clause, items=tuple(items)), dated


def sentences(text: str) -> list[tuple[int, str]]:
    """Return the sentences of a text with their places; what semicolons part counts as several."""
    parts: list[tuple[int, str]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text, start, match.start()):
            parts.append((start, text[start : match.start()]))
            start = match.end()
    return [*parts, (start, text[start:])]


def _with_subject(subject: tuple[Item, ...], clause: Clause) -> Clause:
    """Return a clause with the name of its document as its subject, if its words refer to it."""
    if not subject or not clause.items:
        return clause
    first = clause.items[0]
    known = frozenset().union(*(item.stems for item in subject))
    end = 0
    while end < len(clause.items) and _continues_name(clause.items[end], known, first=end == 0):
        end += 1
    run = end
    while end and run < len(clause.items) and clause.items[run].is_name:
        run += 1
        if clause.items[run - 1].stems and clause.items[run - 1].stems <= known:
            end = run  # after a middle name
    if end == 0 and not ({"he", "she", "it", "they"} & set(first.before[:1])):
        return clause
    rest = clause.items[end:]
    if end == 0:  # the pronoun goes
        rest = (replace(first, before=first.before[1:]), *rest[1:])
    return replace(clause, items=(*subject, *rest), subject_end=len(subject))


def _continues_name(item: Item, known: frozenset[str], *, first: bool) -> bool:
    if not item.stems or not item.stems <= known:
        return False
    return not item.before or item.before == ("the",) if first else not set(item.before) & {","}


def _life(title: tuple[Item, ...], sentence: str) -> Iterator[Clause]:
    match = _LIFE.match(sentence) if "(" in sentence else None
    # A year alone in brackets is a birth only if the text says so, and a span of bare years may be
    # a term of office.
    if match is None or (not match["word"] and (not match["death"] or len(match["birth"]) == 4)):
        return
    name = read_clause(match["name"]).items
    known = frozenset().union(*(item.stems for item in title))
    is_title = any(item.is_name and item.stems <= known for item in name)
    for event, norm in (("birth", "born"), ("death", "died")):
        dates = read_clause(match[event]).items if match[event] else ()
        if len(dates) == 1:
            (date,) = _moved(match.start(event), Clause(dates)).items
            told = (word(norm, norm, date.start, ("was",)), replace(date, before=("on",)))
            yield Clause((*name, *told))
            if is_title:  # "John David Newcombe, AO (born 1944)"
                yield Clause((*title, *told), subject_end=len(title))


#: Words after which a sentence no longer states a fact, or states it only of a part.
HEDGES = word_list(WORDS["hedges"])
_ANTONYMS = frozenset(
    pair
    for first, second in (entry.split("/") for entry in WORDS["antonyms"].split())
    for pair in ((first, second), (second, first))
)
# Between two aligned items, these begin another statement.
_BOUNDARIES = word_list(
    ", : and or but who which that whose where when – — - while nor \" “ ” ' than"
)
_ALTERNATIVES = word_list("or either")
_CHAINED = word_list("of to by")


@dataclass(frozen=True, slots=True)
class Alignment:
    """The items of a clause that the items of a claim are aligned with."""

    claim: Clause
    clause: Clause
    places: tuple[int, ...]  # the item of the clause for each item of the claim, increasing

    @property
    def pairs(self) -> list[tuple[Item, Item]]:
        """The items of the claim with those of the clause."""
        return [
            (item, self.clause.items[place])
            for item, place in zip(self.claim.items, self.places, strict=True)
        ]

    @property
    def inserted(self) -> list[Item]:
        """The items of the clause between aligned ones that are not aligned."""
        first = max(self.places[0], self.clause.subject_end)
        taken = set(self.places)
        return [self.clause.items[at] for at in range(first, self.places[-1]) if at not in taken]

    @property
    def unaligned(self) -> list[Item]:
        """All items of the clause that are not aligned."""
        taken = set(self.places)
        return [item for at, item in enumerate(self.clause.items) if at not in taken]


def align(claim: Clause, clause: Clause) -> Alignment | None:
    """Return the alignment of all items of a claim with the fewest items between, or None.

    Values are aligned with values of their kind, and words with words of the same stem or with
    their antonyms.
    """
    # The cheapest alignment that ends at each place: its cost less the place, and its places.
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    for number, item in enumerate(claim.items):
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        cheapest: tuple[float, tuple[int, ...]] | None = None
        for at, other in enumerate(clause.items):
            if number == 0:
                cheapest = (-float(at), ())
            elif at - 1 in best:
                cheapest = min(cheapest or best[at - 1], best[at - 1])
            if cheapest and _comparable(item, other):
                # Words that are not the same cost less than an inserted item.
                cost, path = cheapest
                following[at] = (cost + 0.3 * (item.norm != other.norm), (*path, at))
        best = following
    if not best:
        return None
    return Alignment(claim, clause, min((cost + at, path) for at, (cost, path) in best.items())[1])


def is_specific(alignment: Alignment) -> bool:
    """Return whether claim and clause begin with one and the same thing: a name, or "the" one."""
    item, other = alignment.pairs[0]
    if alignment.places[0] < alignment.clause.subject_end:
        return True
    definite = "the" in item.before and "the" in other.before
    named = item.is_name and other.is_name and not {"a", "an"} & {*item.before, *other.before}
    return definite or named


def are_antonyms(first: Item, second: Item) -> bool:
    """Return whether two words are listed as opposites."""
    return (first.norm, second.norm) in _ANTONYMS


def is_faithful(alignment: Alignment) -> bool:
    """Return whether the clause states of its subject what the claim states of it.

    The subject leads both, the prepositions agree, nothing hedges, and no statement about something
    else begins between aligned items.
    """
    return (
        _same_subject(alignment)
        and _same_roles(alignment)
        and not any(item.norm in HEDGES for item in alignment.unaligned)
        and not any(item.norm in HEDGES - {"only"} for item in alignment.claim.items)
        and _words_before(alignment.clause.items, _ALTERNATIVES)
        == _words_before(alignment.claim.items, _ALTERNATIVES)
        and _words_before((other for _, other in alignment.pairs), PRONOUNS)
        == _words_before(alignment.claim.items, PRONOUNS)
        and alignment.clause.tail[-1:] != ("?",)
    )


def _comparable(item: Item, other: Item) -> bool:
    if item.value or other.value:
        return bool(item.value and other.value and item.value.kind == other.value.kind)
    if item.norm != other.norm and _is_agent(item) != _is_agent(other):
        return False
    return not item.stems.isdisjoint(other.stems) or are_antonyms(item, other)


def _is_agent(item: Item) -> bool:
    # Stems do not tell research from researchers.
    return item.norm.endswith(("er", "ers", "or", "ors"))


def _words_before(items: Iterable[Item], words: frozenset[str]) -> list[str]:
    return [word for item in items for word in item.before if word in words]


def _same_subject(alignment: Alignment) -> bool:
    first, clause = alignment.places[0], alignment.clause
    if first <= clause.subject_end:
        # Of a subject that the title names, the claim may leave out the first words or the last,
        # but something of it must be there.
        return first < max(clause.subject_end, 1)
    # "In May 1990, the mayor resigned": what comes before the subject ends with a comma.
    ends = clause.subject_end == 0 and "," in clause.items[first].before
    return ends and bool(clause.items[0].preposition)


def _same_roles(alignment: Alignment) -> bool:
    claim, clause, places = alignment.claim.items, alignment.clause.items, alignment.places
    for number in range(1, len(places)):
        item, place, previous = claim[number], places[number], places[number - 1]
        if place < alignment.clause.subject_end:
            continue
        between = clause[max(previous + 1, alignment.clause.subject_end) : place]
        first = clause[previous + 1]
        if between and not first.before and not _is_apart(claim[number], first, clause[previous]):
            return False  # "a film critic" is no film
        if any("'s" in other.before for other in between):
            return False  # "the king's brother" is not the king
        if item.preposition in _CHAINED and any(
            other.preposition == item.preposition for other in between
        ):
            return False  # "the source of the river" is not the river
        if not _same_preposition(item, clause, place, previous):
            return False
        after_subject = number == 1 or previous < alignment.clause.subject_end
        if not _is_one_statement(item, between, clause[place], after_subject=after_subject):
            return False
    last = places[-1] + 1
    ends_with_noun = last < len(clause) and clause[places[-1]].value is clause[last].value is None
    return not (ends_with_noun and not clause[last].before and not _is_adverb(clause[last]))


def _is_apart(item: Item, inserted: Item, previous: Item) -> bool:
    return not item.before or _is_adverb(inserted) or previous.value is not None


def _is_adverb(item: Item) -> bool:
    return item.norm.endswith("ly") or item.norm in ("worldwide", "together")


def _same_preposition(item: Item, clause: Sequence[Item], place: int, previous: int) -> bool:
    claimed, stated = item.preposition, _preposition(clause, place, previous)
    if claimed == stated:
        return True
    value, other = item.value, clause[place].value
    if value is not None and other is not None and value.kind == "date":
        # "Born May 5", "born on 5 May"; a bound has taken its preposition.
        return {claimed, stated} <= {"", "in"}
    has, having = {"has", "have", "had"} & {*item.before}, {"with"}
    return claimed == "" and bool(has) and stated in having


def _preposition(items: Sequence[Item], place: int, previous: int) -> str:
    """Return the preposition of an item, which may stand before the words that describe it."""
    for at in range(place, previous, -1):
        if items[at].before:
            return items[at].preposition
    return ""


def _is_one_statement(
    item: Item, between: Sequence[Item], aligned: Item, *, after_subject: bool
) -> bool:
    passed = {word for other in (*between, aligned) for word in other.before} & _BOUNDARIES
    passed -= set(item.before)
    if not passed:
        return True
    if not after_subject or aligned.value is not None or aligned.is_name:
        return False
    # "Ada was born in London and died", "Ada is a painter who won"
    leading = aligned.before[:1]
    names = any(other.is_name for other in between)
    if passed <= {"and"}:
        return leading == ("and",)
    relative = {"who", "which", "that"}
    return passed <= relative and not names and relative.issuperset(leading) and bool(leading)
