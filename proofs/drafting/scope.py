"""Words around a quotation that belong to it: negations, quantifiers, the rest of a phrase.

"An English writer" out of "was not an English writer" says the opposite of its sentence. A
quotation reaches back over what belongs to it, such as articles and auxiliaries, to the word that
decides; any other word and any punctuation between them keep the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.lexicons.phrases import Phrases
from proofs.lexicons.quantifiers import QUANTIFYING, amount, quantifier
from proofs.logic.quotable_spans import Quotable
from proofs.logic.words import NEGATIONS, word_list

# What stands between such a word and its phrase: no conjunction and no subject, which begin
# something else.
_BETWEEN = word_list(
    "a an the any of in on at to from by for with as even ever yet his her its their this these "
    "is are was were be been being am has have had do does did will would can could may might must "
    "shall should"
)
_PASSED = NEGATIONS | QUANTIFYING | _BETWEEN


def is_quantified(norms: Sequence[str]) -> bool:
    """Whether a span of these words says how many, so that evidence has to be compared with it."""
    return quantifier(norms)[0] is not None or amount(norms)[0] is not None


def reach(text: Quotable, first: int, last: int, quantified: bool) -> int:
    """Return the word at which a quotation begins that holds what turns words `first` to `last`.

    Parameters
    ----------
    text, first, last
        A span of a text that may be quoted. The longer one may be, too.
    quantified
        Whether quantifiers are sought besides negations.
    """
    begin = first
    for at in range(first - 1, -1, -1):
        norm = text.words[at].norm
        if last not in text.lasts(at) or norm not in _PASSED:
            break
        if norm in NEGATIONS or (
            quantified and _quantifier(text, at, last) != _quantifier(text, begin, last)
        ):
            begin = at
    return begin


def whole(phrases: Phrases, text: Quotable, first: int, last: int) -> tuple[int, int]:
    """Return a span that cuts no phrase in two, where that may be quoted."""
    begin, end = first, last
    for start, stop, _ in phrases.found([word.norm for word in text.words]):
        if start <= last and first < stop:
            begin, end = min(begin, start), max(end, stop - 1)
    return (begin, end) if end in text.lasts(begin) else (first, last)


def _quantifier(text: Quotable, first: int, last: int) -> object:
    return quantifier([word.norm for word in text.words[first : last + 1] if word.norm])[0]
