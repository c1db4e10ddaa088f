"""Span alignment: the evidence span that is most similar to a claim span (paper, section 3.2).

A sentence is read together with its title, so a span may be quoted from either. "An English
writer", quoted from "was not an English writer", says the opposite of its sentence. A quotation is
therefore widened backwards, across words such as articles and auxiliaries, to the negation or
quantifier that applies to it. Any other word and any punctuation stop the search.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from proofs.lexicons.lexicon import Phrases, SpanLexicon
from proofs.lexicons.values import QUANTIFIER_WORDS, Quantifier, amount, quantifier, value
from proofs.logic.operators import NatOp
from proofs.logic.proof import QuotableText, quotable_texts
from proofs.logic.words import NEGATIONS, Word, split_words, word_list

if TYPE_CHECKING:  # it needs torch, which lexical alignment does not
    from proofs.drafting.contextual_similarity import ContextualSimilarity


# Words that may stand between a negation or quantifier and its phrase. Conjunctions and subjects
# are not among them, since they begin another clause.
_BETWEEN = word_list(
    "a an the any of in on at to from by for with as even ever yet his her its their this these "
    "is are was were be been being am has have had do does did will would can could may might must "
    "shall should"
)
_SKIPPED = NEGATIONS | QUANTIFIER_WORDS | _BETWEEN


def is_quantified(norms: Sequence[str]) -> bool:
    """Return whether normalised words have a quantifier or a number to compare evidence with."""
    return quantifier(norms)[0] is not None or amount(norms)[0] is not None


def widen_to_operator(text: QuotableText, first: int, last: int, quantified: bool) -> int:
    """Return the first word of a quotation widened to the negation or quantifier before it.

    `first`, `last`: the words of the quotation. The widened quotation may be quoted, too.
    `quantified`: whether to widen it to quantifiers as well as negations.
    """
    begin = first
    for at in range(first - 1, -1, -1):
        norm = text.words[at].norm
        if last not in text.span_ends(at) or norm not in _SKIPPED:
            break
        if norm in NEGATIONS or (
            quantified and _quantifier(text, at, last) != _quantifier(text, begin, last)
        ):
            begin = at
    return begin


def widen_to_phrases(
    phrases: Phrases, text: QuotableText, first: int, last: int
) -> tuple[int, int]:
    """Return the words of a quotation widened so that it splits no phrase.

    The quotation stays as it is if the widened one may not be quoted.
    """
    begin, end = first, last
    for start, stop, _ in phrases.find([word.norm for word in text.words]):
        if start <= last and first < stop:
            begin, end = min(begin, start), max(end, stop - 1)
    return (begin, end) if end in text.span_ends(begin) else (first, last)


def _quantifier(text: QuotableText, first: int, last: int) -> Quantifier | None:
    return quantifier([word.norm for word in text.words[first : last + 1] if word.norm])[0]


#: Longer claim spans are not aligned: no quotation says as much, and comparing them takes long.
MAX_SPAN_WORDS = 64
# The similarity of two different words, by their relation.
_RELATION_SIMILARITY = {
    NatOp.EQUIVALENCE: 0.9,
    NatOp.FORWARD: 0.7,
    NatOp.NEGATION: 0.5,
    NatOp.REVERSE: 0.4,
    NatOp.ALTERNATION: 0.3,
}
_SAME_PREFIX_SIMILARITY = 0.6
# Weights of claim words: names and values identify, stop words hardly count.
_STOP_WEIGHT, _PLAIN_WEIGHT, _NAME_WEIGHT = 0.03, 1.0, 1.5
# Ties between evidence spans: fewest unmatched words, then shortest, and the title of the previous
# step is preferred.
_UNMATCHED_PENALTY, _LENGTH_PENALTY, _SAME_TITLE_BONUS = 0.02, 0.002, 0.05


@dataclass(frozen=True, slots=True)
class Alignment:
    """An evidence span and its similarity to a claim span."""

    # The quoted text: at most seven words, not stop words alone, including a negation or quantifier
    # that applies to it.
    span: str
    title: str  # the title of the document that it is quoted from
    similarity: float  # from 0 (no word in common) to 1 (every word)


class Aligner:
    """Aligns claim spans with spans of the evidence.

    `claim`: the claim whose spans are aligned; needed for `similarity` only. `similarity`: compares
    words in context. Without it, only words that the lexicon relates are similar.
    """

    def __init__(
        self,
        evidence: Sequence[tuple[str, str]],
        lexicon: SpanLexicon,
        claim: str = "",
        similarity: ContextualSimilarity | None = None,
    ) -> None:
        self._lexicon = lexicon
        self._texts = quotable_texts(evidence)
        # For each text: contextual similarities, (words of the text, words of the claim).
        self._contextual: dict[str, list[list[float]]] = {}
        if similarity is not None:
            texts = [text.text for text in self._texts]
            matrices = similarity.compare(claim, texts)
            self._contextual = {t: m.tolist() for t, m in zip(texts, matrices, strict=True)}
            self._claim_starts = [word.start for word in split_words(claim)]

    def align(
        self, span: str, preferred_title: str | None = None, start: int = 0
    ) -> Alignment | None:
        """Return the evidence span that is most similar to a claim span.

        `preferred_title`: the title to prefer among spans of nearly equal similarity: that of the
        previous step. `start`: the character of the claim at which the span begins; needed for
        contextual similarity.

        Without similar words, the first quotable words of the evidence are found, with similarity
        0; None if nothing can be quoted, or if the span has more than `MAX_SPAN_WORDS` words.
        """
        words = [word for word in split_words(span) if word.norm]
        if len(words) > MAX_SPAN_WORDS:
            return None
        weights = [_weight(word, span) for word in words]
        best: tuple[float, tuple[QuotableText, int, int, float]] | None = None
        for text in self._texts:
            bonus = _SAME_TITLE_BONUS if text.title == preferred_title else 0.0
            matrix = self._word_similarities(text, words, start)
            for first, last, similarity, rank in _candidates(text, words, weights, matrix):
                if best is None or rank + bonus > best[0] + 1e-9:
                    best = rank + bonus, (text, first, last, similarity)
        if best is None:
            return self._dissimilar(preferred_title)
        text, first, last, similarity = best[1]
        first, last = widen_to_phrases(self._lexicon.phrases, text, first, last)
        quantified = is_quantified([word.norm for word in words])
        first = widen_to_operator(text, first, last, quantified)
        return Alignment(text.quote(first, last), text.title, similarity)

    def _word_similarities(
        self, text: QuotableText, words: list[Word], start: int
    ) -> list[list[float]]:
        """Return similarities of shape (words of the text, words of the claim span)."""
        matrix = lexical_similarities(self._lexicon, words, text.words)
        contextual = self._contextual.get(text.text)
        if contextual is None:
            return matrix
        # A span may begin or end inside a word of the claim.
        columns = [max(bisect(self._claim_starts, start + word.start) - 1, 0) for word in words]
        return [
            [
                max(lexical, in_context[column])
                if word.is_content and evidence_word.is_content
                else lexical
                for lexical, word, column in zip(row, words, columns, strict=True)
            ]
            for row, evidence_word, in_context in zip(matrix, text.words, contextual, strict=False)
        ]

    def _dissimilar(self, preferred_title: str | None) -> Alignment | None:
        for text in sorted(self._texts, key=lambda t: t.title != preferred_title):
            for first, word in enumerate(text.words):
                if word.is_content:
                    for last in reversed(list(text.span_ends(first))):
                        return Alignment(text.quote(first, last), text.title, 0.0)
        return None


def _candidates(
    text: QuotableText, words: list[Word], weights: list[float], matrix: list[list[float]]
) -> list[tuple[int, int, float, float]]:
    """Return (first word, last word, similarity, rank) of the evidence spans to choose from."""
    total = sum(weights)
    # Stop words in common say nothing, unless the claim span has no other words.
    informative = [at for at, word in enumerate(words) if word.is_content]
    informative = informative or list(range(len(words)))
    matched = [any(row) for row in matrix]
    spans = []
    for first in (at for at, is_matched in enumerate(matched) if is_matched):
        covered, unmatched, begin = [0.0] * len(words), 0, first
        for last in text.span_ends(first):
            if not matched[last]:
                continue
            for at in range(begin, last + 1):  # the words added since the last candidate
                covered = [max(pair) for pair in zip(covered, matrix[at], strict=True)]
                unmatched += text.words[at].is_content and not matched[at]
            begin = last + 1
            if any(covered[at] for at in informative):
                score = sum(c * w for c, w in zip(covered, weights, strict=True)) / total
                penalty = unmatched * _UNMATCHED_PENALTY + (last - first) * _LENGTH_PENALTY
                spans.append((first, last, score, score - penalty))
    return spans


def _weight(word: Word, span: str) -> float:
    if not word.is_content:
        return _STOP_WEIGHT
    identifies = span[word.start].isupper() or value(word.norm) is not None
    return _NAME_WEIGHT if identifies else _PLAIN_WEIGHT


def lexical_similarities(
    lexicon: SpanLexicon, claim: Sequence[Word], evidence: Sequence[Word]
) -> list[list[float]]:
    """Return the similarities, from 0 to 1, of the words of an evidence text and a claim span.

    Two related phrases, or a phrase and a related word, make all of their words similar.

    The result has the shape (words of the evidence, words of the claim span).
    """
    matrix = [[_similarity(lexicon, word, other) for word in claim] for other in evidence]
    claimed = lexicon.phrases.find([word.norm for word in claim])
    stated = lexicon.phrases.find([word.norm for word in evidence])
    if not claimed and not stated:
        return matrix
    pairs = [
        *product(claimed, [*stated, *_single_words(evidence)]),
        *product(_single_words(claim), stated),
    ]
    for (first, end, phrase), (begin, stop, other) in pairs:
        relation = lexicon.word_relation(phrase, other)
        similarity = _RELATION_SIMILARITY.get(relation, 0.0) if relation is not None else 0.0
        for row in matrix[begin:stop]:
            row[first:end] = [max(similarity, known) for known in row[first:end]]
    return matrix


def _similarity(lexicon: SpanLexicon, claim: Word, evidence: Word) -> float:
    claimed, stated = claim.norm, evidence.norm
    if claimed == stated:
        return 1.0
    if not stated or not claim.is_content or not evidence.is_content:
        return 0.0
    relation = lexicon.word_relation(claimed, stated)
    if relation is not None:
        return _RELATION_SIMILARITY.get(relation, 0.0)
    return _SAME_PREFIX_SIMILARITY if _have_same_prefix(claimed, stated) else 0.0


def _single_words(words: Sequence[Word]) -> list[tuple[int, int, str]]:
    return [(at, at + 1, word.norm) for at, word in enumerate(words) if word.is_content]


def _have_same_prefix(left: str, right: str) -> bool:
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length >= 5 and 2 * length > max(len(left), len(right)) and value(left) is None
