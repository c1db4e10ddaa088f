"""Phrases of sentences that a proof may quote, and what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from proofs.drafting.chunking import chunk
from proofs.judges.span_sources import Quote, is_quotable, tidied
from proofs.lexicons.values import MONTHS, ORDINALS, SCALES, SMALL, TENS, YEAR
from proofs.logic.quotation import Quotation
from proofs.logic.words import (
    NEGATIONS,
    is_content,
    split_words,
    stems,
    word_list,
)

# What joins a phrase to the words before it.
_JOINING = re.compile(r"^(?:and|but|or|while)\s", re.IGNORECASE)
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


def phrases(text: str, number: int, title: str) -> list[Quote]:
    """Return the phrases of a sentence, in order.

    Parameters
    ----------
    number
        The number of the sentence in the evidence.
    """
    found = []
    for begin, end in chunk(text):
        joining = _JOINING.match(text[begin:end])
        begin += joining.end() if joining else 0
        words = [word for word in split_words(text[begin:end]) if word.norm]
        if words:
            start, stop = tidied(text, begin + words[0].start, begin + words[-1].end)
            if is_quotable(text[start:stop]):
                found.append(Quote(text[start:stop], Quotation(title, number, start, stop), 1.0))
    return found


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
