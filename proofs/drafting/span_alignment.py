"""Finding the evidence span that a claim span is best compared with.

A sentence is read together with its title, so the span may be quoted from either.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proofs.drafting.scope import is_quantified, reach, whole
from proofs.drafting.word_matching import matches
from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.values import value
from proofs.logic.quotable_spans import Quotable, quotables
from proofs.logic.words import Word, pieces

if TYPE_CHECKING:  # an encoder needs torch, the words alone do not
    from proofs.drafting.contextual_similarity import ContextualLikeness

#: Longer claim spans are aligned with nothing: no quotation says as much, and comparing takes time.
MAX_SPAN_WORDS = 64
# Weights of a claim word: names and values identify, stop words hardly count.
_STOP_WEIGHT, _PLAIN_WEIGHT, _NAME_WEIGHT = 0.03, 1.0, 1.5
# What ranks spans of equal similarity: nothing foreign in them, short, near the step before.
_FOREIGN_WORD, _LENGTH, _SAME_SOURCE = 0.02, 0.002, 0.05


@dataclass(frozen=True, slots=True)
class Alignment:
    """An evidence span and how similar it is to the claim span.

    Attributes
    ----------
    span
        Quoted text, at most seven words, not stop words alone; with the negation or quantifier
        before it, if it has one.
    source
        The title of the document that it comes from.
    similarity
        From 0 (no word in common) to 1 (every word).
    """

    span: str
    source: str
    similarity: float


class Aligner:
    """Aligns claim spans with spans of the given evidence.

    Parameters
    ----------
    evidence
        Pairs of title and sentence.
    lexicon
        Says which words match.
    claim, likeness
        The claim whose spans are aligned, and what tells how alike its words and those of the
        evidence are where they stand. Without them, only words that the lexicon knows match.
    """

    def __init__(
        self,
        evidence: Sequence[tuple[str, str]],
        lexicon: SpanLexicon,
        claim: str = "",
        likeness: ContextualLikeness | None = None,
    ) -> None:
        self._lexicon = lexicon
        self._texts = quotables(evidence)
        self._alike: dict[str, list[list[float]]] = {}
        if likeness is not None:
            texts = [text.text for text in self._texts]
            found = likeness.compare(claim, texts)
            self._alike = {t: m.tolist() for t, m in zip(texts, found, strict=True)}
            self._starts = [word.start for word in pieces(claim)]

    def align(self, span: str, near: str | None = None, start: int = 0) -> Alignment | None:
        """Return the best evidence span for a claim span.

        Parameters
        ----------
        span
            The claim span.
        near
            The title of the document that the step before was aligned with: its spans are
            preferred among nearly equal ones.
        start
            Where the span begins in the claim; of use with `likeness` only.

        Returns
        -------
        Alignment or None
            Similarity 0, and the first quotable words of the evidence, where no word matches.
            None if nothing can be quoted: no evidence, or stop words alone. None also for spans of
            more than `MAX_SPAN_WORDS` words.
        """
        words = [word for word in pieces(span) if word.norm]
        if len(words) > MAX_SPAN_WORDS:
            return None
        weights = [_weight(word, span) for word in words]
        best: tuple[float, tuple[Quotable, int, int, float]] | None = None
        for text in self._texts:
            bonus = _SAME_SOURCE if text.source == near else 0.0
            columns = self._matches(text, words, start)
            for first, last, similarity, rank in _spans(text, words, weights, columns):
                if best is None or rank + bonus > best[0] + 1e-9:
                    best = rank + bonus, (text, first, last, similarity)
        if best is None:
            return self._anything(near)
        text, first, last, similarity = best[1]
        first, last = whole(self._lexicon.phrases, text, first, last)
        first = reach(text, first, last, is_quantified([word.norm for word in words]))
        return Alignment(text.quote(first, last), text.source, similarity)

    def _matches(self, text: Quotable, words: list[Word], start: int) -> list[list[float]]:
        """Return for each word of a text how well each word of the claim span matches it."""
        columns = matches(self._lexicon, words, text.words)
        alike = self._alike.get(text.text)
        if alike is None:
            return columns
        # A span may begin or end within a word of the claim.
        places = [max(bisect(self._starts, start + word.start) - 1, 0) for word in words]
        return [
            [
                max(match, row[place]) if word.content and other.content else match
                for match, word, place in zip(column, words, places, strict=True)
            ]
            for column, other, row in zip(columns, text.words, alike, strict=False)
        ]

    def _anything(self, near: str | None) -> Alignment | None:
        """Return the first quotable span, from the document `near` if it has one."""
        for text in sorted(self._texts, key=lambda t: t.source != near):
            for first, word in enumerate(text.words):
                if word.content:
                    for last in reversed(list(text.lasts(first))):
                        return Alignment(text.quote(first, last), text.source, 0.0)
        return None


def _spans(
    text: Quotable, words: list[Word], weights: list[float], columns: list[list[float]]
) -> list[tuple[int, int, float, float]]:
    """Return (first word, last word, similarity, rank) of the spans worth comparing.

    `columns` holds for each word of the text how well the words of the claim span match it.
    """
    total = sum(weights)
    # Stop words in common say nothing, unless the claim span has no other words.
    telling = [at for at, word in enumerate(words) if word.content] or list(range(len(words)))
    hits = [any(column) for column in columns]
    found = []
    for first in (at for at, hit in enumerate(hits) if hit):
        covered, foreign, seen = [0.0] * len(words), 0, first
        for last in text.lasts(first):
            if not hits[last]:
                continue
            # Words since the last span that was worth comparing.
            for at in range(seen, last + 1):
                covered = [max(pair) for pair in zip(covered, columns[at], strict=True)]
                foreign += text.words[at].content and not hits[at]
            seen = last + 1
            if any(covered[at] for at in telling):
                score = sum(c * w for c, w in zip(covered, weights, strict=True)) / total
                extra = foreign * _FOREIGN_WORD + (last - first) * _LENGTH
                found.append((first, last, score, score - extra))
    return found


def _weight(word: Word, span: str) -> float:
    if not word.content:
        return _STOP_WEIGHT
    named = span[word.start].isupper() or value(word.norm) is not None
    return _NAME_WEIGHT if named else _PLAIN_WEIGHT
