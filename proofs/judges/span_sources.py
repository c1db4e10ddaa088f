"""Which sentence of the evidence speaks of which span of a claim.

A span is quoted from one sentence, and from one about its subject. The subject is not parsed but
followed: sentences are chosen for all spans together, as the best path through them, where a step
to another document costs nothing if the span names it, little if the sentence before names it and
the claim does not (a bridge: "whose director" is quoted as "directed by Ada Quill", and what comes
after from the document of Ada Quill), and much if nothing leads there.

Phrases of the sentences are what may be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from proofs.drafting.spans import Aligner, chunk
from proofs.lexicons import SpanLexicon
from proofs.lexicons.values import MONTHS, ORDINAL, ORDINALS, SCALES, SMALL, TENS, YEAR
from proofs.logic.proof import MAX_EVIDENCE_WORDS, MAX_STEPS
from proofs.logic.words import (
    NEGATIONS,
    Quotation,
    Word,
    find_quotation,
    has_content,
    is_content,
    split_words,
    stems,
    word_list,
    word_spans,
)
from proofs.verifier import NEUTRAL, Reading

_QUALIFIER = re.compile(r"\s\([^()]*\)$")
_CONNECTORS = word_list("of the de van von la du di")
# What a quotation does not begin with.
_JOINING = word_list("and but or nor while that which who whom whose where when also then")
# How a claim begins to describe what it does not name, after having said how it is related.
_DESCRIBING = word_list("by who which that where a an the")
_AND, _BY = re.compile(r"\sand\s"), re.compile(r"\bby\s")
_DAY = re.compile(r"[0-3]?[0-9]")

# From these similarities on, words say the same as a span, and are related to it.
SAME, RELATED = 0.85, 0.4
# Most words from a quotation to the name beside it.
_BESIDE = 4

# Added to the similarity of a span and a sentence.
_NAMED = 0.3  # the span names the document
_ANOTHER_SUBJECT = -1.5  # the span names a document, but the sentence does not speak of it
_LEADING = 0.45  # the quotation says how the subject is related to the next document
_TELLING = 0.12  # the sentence, by itself, decides the claim
# Added for the sentence of the next span.
_SAME_SENTENCE, _SAME_DOCUMENT = 0.08, 0.05
_BACK = -0.15  # to a document that the claim has named before
_BRIDGE, _DESCRIBED_BRIDGE, _LONG_BRIDGE, _BACKWARD_BRIDGE = -0.1, 0.15, -0.3, -0.3
_AHEAD = -0.4  # to a document that the claim names later
_ASTRAY = -2.0  # to a document that nothing leads to
_QUOTED = -0.4  # to such a document, if it says a name of several words as the span does


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the evidence that a span may be set beside."""

    text: str
    place: Quotation  # with the number of the sentence in the evidence
    similarity: float  # to the span, from 0 to 1


class SpanSources:
    """The spans of a claim, what each sentence of the evidence says of them, and the best path.

    Attributes
    ----------
    claim, evidence
        As given.
    spans, texts
        Begin and end of each span in the claim, and its text.
    offers
        For each span and each sentence, the most similar words; None if nothing can be quoted.
    path
        For each span, the number of the sentence that it is best quoted from.
    """

    def __init__(
        self,
        claim: str,
        evidence: Sequence[tuple[str, str]],
        reading: Reading,
        lexicon: SpanLexicon,
    ) -> None:
        self.claim, self.evidence, self._reading = claim, evidence, reading
        self.lexicon = lexicon
        self.spans = self._apart(chunk(claim, max_chunks=MAX_STEPS))
        self.texts = [claim[start:end] for start, end in self.spans]
        aligners = [Aligner([pair], lexicon) for pair in evidence]
        self.offers = [
            [self._offer(aligner, number, span) for number, aligner in enumerate(aligners)]
            for span in self.texts
        ]
        self.path = self._best_path()

    def _apart(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Divide spans at an "and" between the names of two documents."""
        words = [word for word in split_words(self.claim) if word.norm]
        names = [
            place
            for title in set(self._titles) - {""}
            for place in name_places(title, words, self.claim)
        ]
        apart: list[tuple[int, int]] = []
        for at, (begin, end) in enumerate(spans):
            for match in _AND.finditer(self.claim, begin, end):
                before = any(begin <= start and stop <= match.start() for start, stop in names)
                after = any(match.end() <= start and stop <= end for start, stop in names)
                inside = any(start < match.start() and match.end() < stop for start, stop in names)
                if before and after and not inside and len(apart) + len(spans) - at < MAX_STEPS:
                    apart.append((begin, match.start()))
                    begin = match.start() + 1
            apart.append((begin, end))
        return apart

    def quote(self, span: int) -> Quote | None:
        """Return the words that a span is best quoted by."""
        return self.offers[span][self.path[span]]

    def names_document(self, span: int) -> bool:
        """Return whether a span names a document of the evidence."""
        return bool(self._named[span])

    def names(self, title: str, span: int) -> bool:
        """Return whether a span names a document."""
        return title in self._named[span]

    def _offer(self, aligner: Aligner, number: int, span: str) -> Quote | None:
        title, text = self.evidence[number]
        alignment = aligner.align(span)
        if alignment is None:
            return None
        place = find_quotation(alignment.span, [(title, text)])
        if place is None:
            return None
        whole = title if place.in_title else text
        begin, end = tidied(whole, place.start, place.end)
        place = replace(place, sentence_id=number, start=begin, end=end)
        return Quote(whole[begin:end], place, alignment.similarity)

    @cached_property
    def _titles(self) -> list[str]:
        return [title for title, _ in self.evidence]

    @cached_property
    def _named(self) -> list[set[str]]:
        """For each span, the titles that begin or are in it."""
        words = [word for word in split_words(self.claim) if word.norm]
        named: list[set[str]] = [set() for _ in self.spans]
        for title in set(self._titles) - {""}:
            for at, _ in name_places(title, words, self.claim):
                for number, (begin, end) in enumerate(self.spans):
                    if begin <= at < end:
                        named[number].add(title)
        return named

    @cached_property
    def mentions(self) -> list[dict[str, tuple[int, int]]]:
        """For each sentence, the other titles that it names, with the characters where it does."""
        found = []
        for own, text in self.evidence:
            words = [word for word in split_words(text) if word.norm]
            places = {
                title: next(iter(name_places(title, words, text)), None)
                for title in set(self._titles) - {own, ""}
            }
            found.append({title: place for title, place in places.items() if place is not None})
        return found

    def _best_path(self) -> list[int]:
        count = len(self.evidence)
        telling = 1 - self._reading.sentences[:, NEUTRAL]
        scores = np.zeros((len(self.spans), count))
        for span, offers in enumerate(self.offers):
            for number, offer in enumerate(offers):
                similarity = offer.similarity if offer is not None else 0.0
                added = self._subject(span, number) + _LEADING * self._leads(offer)
                scores[span, number] = similarity + added + _TELLING * telling[number]
        best, chosen = scores[:1].copy(), []
        for span in range(1, len(self.spans)):
            moves = np.array([[self._move(span, a, b) for b in range(count)] for a in range(count)])
            reached = best[-1][:, None] + moves
            chosen.append(reached.argmax(0))
            best = np.vstack([best, reached.max(0) + scores[span]])
        path = [int(best[-1].argmax())] if self.spans else []
        for back in reversed(chosen):
            path.append(int(back[path[-1]]))
        return path[::-1]

    def _leads(self, offer: Quote | None) -> bool:
        """Return whether words stand beside the name of a document that the claim does not name."""
        if offer is None or offer.similarity < RELATED or offer.place.in_title:
            return False
        place, text = offer.place, self.evidence[offer.place.sentence_id][1]
        unnamed = (
            name
            for title, name in self.mentions[place.sentence_id].items()
            if not any(title in named for named in self._named)
        )
        return any(
            len(word_spans(text[min(place.start, begin) : max(place.end, end)])) <= _BESIDE
            for begin, end in unnamed
        )

    def _subject(self, span: int, number: int) -> float:
        """Return what to add to the similarity of a sentence for what it is about."""
        named = self._named[span]
        if self._titles[number] in named:
            return _NAMED
        # A surname may be that of another person.
        whole = {title for title in named if _name(title) <= _norms(self.texts[span])}
        return _ANOTHER_SUBJECT if whole and whole.isdisjoint(self.mentions[number]) else 0.0

    def _move(self, span: int, before: int, after: int) -> float:
        source, target = self._titles[before], self._titles[after]
        if source == target:
            return _SAME_SENTENCE if before == after else _SAME_DOCUMENT
        if target in self._named[span]:
            return 0.0
        if any(target in named for named in self._named[:span]):
            return _BACK
        linked = target in self.mentions[before] or source in self.mentions[after]
        if any(target in named for named in self._named[span:]):
            return _BRIDGE if linked else _AHEAD
        astray = _QUOTED if self._says_name(span, after) else _ASTRAY
        described = self.texts[span].split()[0].lower() in _DESCRIBING
        if not described and all(map(self.is_bare_name, range(span))):
            return astray
        if target in self.mentions[before]:
            return _DESCRIBED_BRIDGE if described else _BRIDGE
        leads = (m for own, m in zip(self._titles, self.mentions, strict=True) if own == source)
        if any(target in mentioned for mentioned in leads):
            return _LONG_BRIDGE
        return _BACKWARD_BRIDGE if source in self.mentions[after] else astray

    def _says_name(self, span: int, number: int) -> bool:
        """Return whether a sentence has a name of several words of a span."""
        offer = self.offers[span][number]
        if offer is None or offer.place.in_title or offer.similarity < SAME:
            return False
        words = _norms(self.texts[span])
        return (
            sum(word.norm in words for word in split_words(offer.text) if word.is_content) >= 2
            and sum(word[:1].isupper() for word in self.texts[span].split()) >= 2
        )

    def is_bare_name(self, span: int) -> bool:
        """Return whether a span is the name of a document of the evidence and says nothing else."""
        content = {word.norm for word in split_words(self.texts[span]) if word.is_content}
        return any(
            content <= {word.norm for word in split_words(title)} for title in self._named[span]
        )


def _norms(text: str) -> set[str]:
    return {word.norm for word in split_words(text) if word.norm}


def _name(title: str) -> set[str]:
    return _norms(_QUALIFIER.sub("", title))


def name_places(title: str, words: Sequence[Word], text: str) -> list[tuple[int, int]]:
    """Return the characters of a text where the name of a document stands.

    It may stand in the plural. A name of several words may also be written as its last one, if no
    other name continues that.
    """
    name = [word.norm for word in split_words(_QUALIFIER.sub("", title)) if word.norm]
    norms = [word.norm for word in words]
    if not name:
        return []
    last = {name[-1], f"{name[-1]}s", f"{name[-1]}es"} if len(name[-1]) > 3 else {name[-1]}
    whole = [
        at
        for at in range(len(norms) - len(name) + 1)
        if norms[at : at + len(name) - 1] == name[:-1] and norms[at + len(name) - 1] in last
    ]
    if whole:
        return [(words[at].start, words[at + len(name) - 1].end) for at in whole]
    if not 2 <= len(name) <= 4 or len(name[-1]) < 4 or name[-1].isdigit():
        return []
    return [
        (word.start, word.end)
        for at, word in enumerate(words)
        if word.norm == name[-1]
        and text[word.start].isupper()
        and not any(
            _continues(text, words, beside)
            for beside in (at - 1, at)
            if 0 <= beside < len(words) - 1
        )
    ]


def is_quotable(text: str) -> bool:
    """Return whether a text may be a quotation."""
    return has_content(text) and len(word_spans(text)) <= MAX_EVIDENCE_WORDS and "]" not in text


def tidied(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a quotation without loose ends, and with whole names and dates."""
    words = [word for word in split_words(text) if word.norm]
    inside = [at for at, word in enumerate(words) if word.start < end and word.end > start]
    if not inside:
        return start, end
    first, last = inside[0], inside[-1]
    while last > first and not (words[last].is_content or words[last].norm in NEGATIONS):
        last -= 1
    while first < last and words[first].norm in _JOINING:
        first += 1
    while first and last - first < MAX_EVIDENCE_WORDS - 1 and _continues(text, words, first - 1):
        first -= 1
    while (
        last + 1 < len(words)
        and last - first < MAX_EVIDENCE_WORDS - 1
        and _continues(text, words, last)
    ):
        last += 1
    begin, stop = words[first].start, words[last].end
    opened = text.rfind("(", begin, stop)
    if opened > begin and text.find(")", opened, stop) < 0:
        stop = stop + 1 if text[stop : stop + 1] == ")" else len(text[:opened].rstrip())
    return (begin, stop) if is_quotable(text[begin:stop]) else (start, end)


def _continues(text: str, words: Sequence[Word], at: int) -> bool:
    """Return whether a word and the next one belong to one name or date."""
    one, other = words[at], words[at + 1]
    between, ours = text[one.end : other.start], text[one.start : one.end]
    theirs = text[other.start : other.end]
    if _is_of_date(one.norm) and _is_of_date(other.norm):
        return between in (" ", ", ") and (
            one.norm in MONTHS or other.norm in MONTHS or "," in between
        )
    if between != " ":
        return False
    if ours[0].isupper() and theirs[0].isupper():
        return one.is_content or at == 0 or not text[: one.start].rstrip().endswith((".", "!", "?"))
    inner = one.norm if theirs[0].isupper() else other.norm
    outer = at - 1 if theirs[0].isupper() else at + 2
    # "of" in "Statue of Liberty"
    return (
        inner in _CONNECTORS
        and (ours[0].isupper() or theirs[0].isupper())
        and 0 <= outer < len(words)
        and text[words[outer].start].isupper()
        and words[outer].is_content
    )


def _is_of_date(norm: str) -> bool:
    return (
        norm in MONTHS
        or bool(YEAR.fullmatch(norm))
        or bool(_DAY.fullmatch(norm))
        or bool(ORDINAL.fullmatch(norm))
    )


# What joins a phrase to the words before it.
_LEADING_CONJUNCTION = re.compile(r"^(?:and|but|or|while)\s", re.IGNORECASE)
_DECIDING = word_list(
    "before after more less most least above below over under all some few until same other"
)
_NUMBERS = SMALL.keys() | TENS.keys() | SCALES.keys() | ORDINALS.keys()
_DATES = word_list("date day year month century decade birthday time")
_PLACES = word_list(
    "city town village place country state county region district capital birthplace province"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """Which kinds of answers a phrase gives."""

    date: bool
    number: bool
    name: bool

    @classmethod
    def of(cls, text: str) -> Kind:
        """Return the kinds of the values and names of a text, or of nouns that stand for them."""
        words = [word for word in split_words(text) if word.is_content]
        norms = {word.norm for word in words}
        date = any(norm in MONTHS or YEAR.fullmatch(norm) for norm in norms)
        return cls(
            date or not norms.isdisjoint(_DATES),
            not date and any(norm in _NUMBERS or norm[:1].isdigit() for norm in norms),
            not norms.isdisjoint(_PLACES)
            or any(text[word.start].isupper() and word.norm not in MONTHS for word in words),
        )

    @property
    def is_plain(self) -> bool:
        """Whether it gives none."""
        return not (self.date or self.number or self.name)


def values(text: str) -> set[str]:
    """Return the dates and numbers of a text, as normalised words."""
    norms = (word.norm for word in split_words(text))
    return {norm for norm in norms if norm[:1].isdigit() or norm in _NUMBERS or norm in MONTHS}


def years(text: str) -> set[str]:
    """Return the years of a text."""
    return {word.norm for word in split_words(text) if YEAR.fullmatch(word.norm)}


def phrases(text: str, number: int, title: str, *, ends: bool = False) -> list[Quote]:
    """Return the phrases of a sentence, in order.

    `number`: the number of the sentence in the evidence. `ends`: whether to add the ends of some:
    the last words of those that are too long to be quoted whole, since their noun says what
    something is, and the agents of participles.
    """
    spans = chunk(text)
    if ends:
        whole = whole_phrases(text)
        agents = (
            (begin + by.start(), end)
            for begin, end in spans
            if (by := _BY.search(text[begin:end])) is not None
        )
        spans = sorted({*spans, *(_last_words(text, *span) for span in whole), *agents})
    found = []
    for begin, end in spans:
        joining = _LEADING_CONJUNCTION.match(text[begin:end])
        begin += joining.end() if joining else 0
        words = [word for word in split_words(text[begin:end]) if word.norm]
        if words:
            start, stop = tidied(text, begin + words[0].start, begin + words[-1].end)
            if is_quotable(text[start:stop]):
                found.append(Quote(text[start:stop], Quotation(title, number, start, stop), 1.0))
    return found


@lru_cache(maxsize=64)
def whole_phrases(text: str) -> list[tuple[int, int]]:
    """Return the begin and end of phrases, however long."""
    return chunk(text, max_words=4 * MAX_EVIDENCE_WORDS)


def _last_words(text: str, begin: int, end: int) -> tuple[int, int]:
    words = word_spans(text[begin:end])
    return begin + words[-MAX_EVIDENCE_WORDS:][0][0], end


def spanning(text: str, quotes: Sequence[Quote]) -> Quote | None:
    """Return the words of a sentence from the first to the last of its quotations, if not long."""
    begin = min(quote.place.start for quote in quotes)
    end = max(quote.place.end for quote in quotes)
    if not is_quotable(text[begin:end]):
        return None
    return Quote(text[begin:end], replace(quotes[0].place, start=begin, end=end), 1.0)


def overlap(one: Quotation, other: Quotation) -> bool:
    """Return whether two quotations have a character in common."""
    same = (one.sentence_id, one.in_title) == (other.sentence_id, other.in_title)
    return same and one.start < other.end and other.start < one.end


def overlaps(one: Quotation, others: Iterable[Quotation]) -> bool:
    """Return whether a quotation has a character in common with one of several."""
    return any(overlap(one, other) for other in others)


def is_negated(text: str) -> bool:
    """Return whether a text has a negation."""
    return any(word.norm in NEGATIONS for word in split_words(text))


def content_stems(text: str) -> set[str]:
    """Return the stems of the content words of a text."""
    return {
        stem for word in split_words(text) if is_content(word.norm) for stem in stems(word.norm)
    }


def deciding_stems(text: str) -> set[str]:
    """Return the stems of the content words of a text, and stop words that decide what it says."""
    return content_stems(text) | {word.norm for word in split_words(text) if word.norm in _DECIDING}


def shared_words(claim: str, sentence: tuple[str, str]) -> float:
    """Return the share of a claim's content words that a sentence has, with its title."""
    words = content_stems(claim)
    return len(words & content_stems(" ".join(sentence))) / max(len(words), 1)


def first_word(text: str) -> str:
    """Return the first word of a text that has words, in lower case."""
    return text.split()[0].lower()
