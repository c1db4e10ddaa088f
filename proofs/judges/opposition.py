"""Words of the evidence that contradict a span of a refuted claim."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofs.judges.span_sources import (
    Kind,
    Quote,
    SpanSources,
    content_stems,
    deciding_stems,
    first_word,
    is_negated,
    is_quotable,
    overlaps,
    phrases,
    shared_words,
    values,
    whole_phrases,
)
from proofs.logic import REFUTING_OPERATORS, NatOp
from proofs.logic.words import Quotation, split_words, stems, word_list
from proofs.verifier import LABELS, Comparison, Reading

_CONTRADICTION = LABELS.index("contradiction")
# Stop words of which a claim and evidence about the same cannot both be right.
_OPPOSITES = (
    *(("before", "after"), ("more", "less"), ("most", "least"), ("above", "below")),
    *(("over", "under"), ("all", "some"), ("all", "few"), ("until", "after"), ("same", "other")),
)
_ORDER = word_list("older younger before after earlier later first")


def find_opposition(
    sources: SpanSources, operators: Sequence[NatOp], labels: np.ndarray, reading: Reading
) -> tuple[int, Quote | None]:
    """Return the span that the evidence denies and the words against it; None without any.

    Values that exact reasoning has compared come first. Otherwise spans and phrases are chosen
    together: a span that the verifier takes for denied, in a sentence that denies the claim, and a
    phrase of the same kind that stands after the same words.

    `operators`: how each span relates to its quotation by words alone. `labels`: what the verifier
    says of each span, (spans, 3).
    """
    for comparison in reading.comparisons:
        span, quote = compared(sources, comparison)
        if span is not None and quote is not None:
            return span, quote
    denials = reading.sentences[:, _CONTRADICTION]
    denials = denials / (denials.max() or 1.0)
    best, refuted = None, int(np.argmax(labels[:, _CONTRADICTION]))
    highest = (False, -np.inf)
    for number, (title, text) in enumerate(sources.evidence):
        shared = shared_words(sources.claim, (title, text))
        previous = ""
        for phrase in phrases(text, number, title, ends=True):
            for span in range(len(sources.spans)):
                own = _opposes(sources, span, phrase, previous)
                if own is None:
                    continue
                score = own + 1.5 * denials[number] + 1.5 * shared
                score += 1.5 * labels[span, _CONTRADICTION]
                score -= 1.0 * (operators[span] is NatOp.EQUIVALENCE)
                score -= 0.8 * (_is_cut(text, phrase.place) or _is_aside(text, phrase.place))
                # What another document says of its own subject denies nothing of this one.
                ranked = _is_near(sources, span, title), score
                if ranked > highest:
                    best, refuted, highest = phrase, span, ranked
            previous = phrase.text
    if best is None:
        best = sources.offers[refuted][int(np.argmax(denials))]
    return refuted, best


def compared(sources: SpanSources, comparison: Comparison) -> tuple[int | None, Quote | None]:
    """Return the span of a value that exact reasoning has compared, and the words it is set beside.

    Of two dates that it has put in order, that of the document which the span names comes first.
    """
    span = _span_at(sources, comparison.claimed)
    if span is None:
        ordered = (n for n, text in enumerate(sources.texts) if _ORDER & set(text.lower().split()))
        span = next(ordered, None)
    found = _stated(sources, comparison.sentence, comparison.stated)
    if found is None and span is not None:
        quotes = [
            _stated(sources, number, date)
            for number in range(len(sources.evidence))
            for date in comparison.stated.split(" and ")
        ]
        dates = [quote for quote in quotes if quote is not None]
        dates.sort(key=lambda quote: not sources.names(quote.place.title, span))
        found = next(iter(dates), None)
    return span, found


def _stated(sources: SpanSources, number: int, stated: str) -> Quote | None:
    """Return words of a sentence, with their preposition if they can be quoted with it."""
    title, text = sources.evidence[number]
    start = text.find(stated)
    if start < 0 or not is_quotable(stated):
        return None
    place = Quotation(title, number, start, start + len(stated))
    whole = (phrase for phrase in phrases(text, number, title) if overlaps(place, [phrase.place]))
    same = (phrase for phrase in whole if content_stems(phrase.text) == content_stems(stated))
    return next(same, Quote(stated, place, 1.0))


def _is_near(sources: SpanSources, span: int, title: str) -> bool:
    """Return whether a document is that of a span, or one that the sentence of the span names."""
    numbers = (sources.path[span], sources.path[max(span - 1, 0)])
    return any(
        sources.evidence[number][0] == title or title in sources.mentions[number]
        for number in numbers
    )


def _span_at(sources: SpanSources, words: str) -> int | None:
    place = sources.claim.find(words)
    within = [n for n, (begin, _) in enumerate(sources.spans) if begin < place + len(words)]
    return within[-1] if place >= 0 and within else None


def _kinds_that_differ(text: str, other: str) -> tuple[Kind, Kind]:
    """Return the kinds of two texts without the values and names that both have."""
    shared = content_stems(text) & content_stems(other)

    def rest(whole: str) -> str:
        words = split_words(whole)
        return " ".join(
            whole[word.start : word.end] for word in words if shared.isdisjoint(stems(word.norm))
        )

    return Kind.of(rest(text)), Kind.of(rest(other))


def _opposes(sources: SpanSources, span: int, phrase: Quote, previous: str) -> float | None:
    """Return how well a phrase stands where a span of the claim does, before the verifier.

    None if it cannot stand against it: it says the same, or names what the sentence is about.
    """
    text, before = sources.texts[span], sources.texts[span - 1] if span else ""
    claimed, stated = deciding_stems(text), deciding_stems(phrase.text)
    negated = is_negated(text) != is_negated(phrase.text)
    if not stated or (stated <= deciding_stems(phrase.place.title) and not negated):
        return None
    if claimed <= stated and not negated:
        return None
    named = sources.mentions[phrase.place.sentence_id].values()
    leads_on = any(start < phrase.place.end and phrase.place.start < end for start, end in named)
    kind, other_kind = _kinds_that_differ(text, phrase.text)
    if kind.is_plain:  # a value belongs to the words just before it, a verb to its subject
        before = sources.claim[: sources.spans[span][0]]
    follows = bool(content_stems(before) & content_stems(previous))
    opposite = any({one, other} <= claimed ^ stated for one, other in _OPPOSITES)
    relation, begins = sources.lexicon.relation(text, phrase.text), first_word(text)
    elsewhere = deciding_stems(sources.claim) - claimed
    says_little = len(content_stems(phrase.text)) < 2 and other_kind.is_plain
    return (
        2.5 * (relation in REFUTING_OPERATORS or opposite)
        + 2.0 * (negated and bool(claimed & stated))
        + (0.4 + 0.6 * follows if kind.is_plain else 1.0 + 2.0 * follows) * (kind == other_kind)
        # The same verb says more than the same preposition.
        + (1.5 if content_stems(begins) else 0.5) * (begins == first_word(phrase.text))
        + len(claimed & stated) / max(len(claimed), 1)
        # The claim says these words itself, if elsewhere.
        - 1.0 * (stated <= elsewhere | claimed and not negated)
        - 1.0 * len(stated & elsewhere) / len(stated)
        # A document denies nothing of its own name.
        - 1.0 * sources.names(phrase.place.title, span)
        # It names the next document, which says more.
        - 1.0 * leads_on
        # A verb alone, after other words than in the claim.
        - 1.5 * (says_little and not negated and not follows)
    )


def _is_cut(text: str, place: Quotation) -> bool:
    """Return whether a phrase ends before its noun: "is a 1968 American" of "horror film"."""
    return any(
        begin <= place.start < end and content_stems(text[place.end : end])
        for begin, end in whole_phrases(text)
    )


def _is_aside(text: str, place: Quotation) -> bool:
    """Return whether a phrase without a value stands in brackets, where others are spoken of."""
    opened = text.rfind("(", 0, place.start)
    closed = text.find(")", opened) if opened >= 0 else -1
    return closed >= place.end and not values(text[place.start : place.end])
