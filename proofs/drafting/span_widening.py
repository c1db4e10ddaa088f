"""Widening of a quotation to the negation, quantifier or phrase that its words belong to.

"An English writer", quoted from "was not an English writer", says the opposite of its sentence. A
quotation is therefore widened backwards, across words such as articles and auxiliaries, to the
negation or quantifier that applies to it. Any other word and any punctuation stop the search.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.lexicons.phrases import Phrases
from proofs.lexicons.quantifiers import QUANTIFIER_WORDS, Quantifier, amount, quantifier
from proofs.logic.quotable_spans import QuotableText
from proofs.logic.words import NEGATIONS, word_list

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

    Parameters
    ----------
    text
        The text that is quoted.
    first, last
        The words of the quotation. The widened quotation may be quoted, too.
    quantified
        Whether to widen it to quantifiers as well as negations.
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
