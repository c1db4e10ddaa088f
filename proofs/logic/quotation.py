"""The places in the evidence of the words that the steps of a proof quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quotation:
    """The place of quoted words.

    Attributes
    ----------
    title
        The title of the document, which may be empty.
    sentence_id
        The number of the sentence in its document; of given evidence, in the list of sentences.
    start, end
        Characters ``[start, end)`` of the sentence, or of the title.
    in_title
        Whether the words are those of the title, which the sentence is read with.
    """

    title: str
    sentence_id: int
    start: int
    end: int
    in_title: bool = False


def find_quotation(
    quoted: str, evidence: Sequence[tuple[str, str]], preferred: str | None = None
) -> Quotation | None:
    """Return where words stand in evidence, with the number of the sentence in it.

    Whole words come before parts of words ("art" in "started"), then sentences of the document that
    is preferred, sentences before titles, and the first of several.

    Parameters
    ----------
    evidence
        Pairs of title and sentence.
    preferred
        The title of the document that the step before quotes.

    Returns
    -------
    Quotation or None
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
