"""Alignment of words with tokens: the token positions at which a span may begin and end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proofs.logic.quotable_spans import QuotableText
from proofs.logic.words import word_spans
from trie import SafeTokenizer


@dataclass(frozen=True, slots=True)
class WordUnits:
    """The tokens of a text, divided into units: the smallest spans of both words and tokens.

    A unit is usually a word. It is longer if a token spans two words, or if a word has no token of
    its own, such as a lone control character.

    Attributes
    ----------
    ids
        The token ids of the text.
    cuts
        Positions in `ids`, ascending: unit ``u`` has the tokens ``[cuts[u], cuts[u + 1])``.
    spans
        The first and last (inclusive) character span that each unit covers.
    """

    ids: tuple[int, ...]
    cuts: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def divide_tokens(
    tokens: SafeTokenizer,
    text: str,
    spans: Sequence[tuple[int, int]],
    never_first: Collection[int] = (),
) -> WordUnits:
    """Divide the tokens of a text at the borders of character spans.

    Parameters
    ----------
    tokens
        The tokenizer.
    text
        The text.
    spans
        Characters ``[start, end)`` in order, not overlapping, with only white space between them.
    never_first
        SafeTokenizer with which no unit except the first may begin.
    """
    ids, offsets = tokens.encode_with_offsets(text)
    if not spans:
        return WordUnits((), (0,), ())
    owner = _span_of_character(text, spans)
    # For each span, the last token that touches it or an earlier one, and the first that touches
    # it or a later one. A border between spans is a border between tokens if these do not cross.
    last = [-1] * len(spans)
    first = [len(ids)] * len(spans)
    for position, (start, end) in enumerate(offsets):
        for span in {owner[c] for c in range(start, min(end, len(owner)))} - {-1}:
            last[span] = max(last[span], position)
            first[span] = min(first[span], position)
    for span in range(1, len(spans)):
        last[span] = max(last[span], last[span - 1])
    for span in range(len(spans) - 2, -1, -1):
        first[span] = min(first[span], first[span + 1])
    cuts, begins = [0], [0]
    for span in range(1, len(spans)):
        cut = last[span - 1] + 1
        if cuts[-1] < cut <= first[span] < len(ids) and ids[cut] not in never_first:
            cuts.append(cut)
            begins.append(span)
    ends = [begin - 1 for begin in begins[1:]] + [len(spans) - 1]
    return WordUnits(tuple(ids), (*cuts, len(ids)), tuple(zip(begins, ends, strict=True)))


def claim_units(
    tokens: SafeTokenizer, claim: str, closing: int
) -> tuple[WordUnits, list[tuple[int, int]]]:
    """Return the units of a claim and the characters ``[start, end)`` of each.

    No unit begins with the token `closing`, which would end the claim span before it.
    """
    words = word_spans(claim)
    units = divide_tokens(tokens, claim, words, (closing,))
    return units, [(words[a][0], words[b][1]) for a, b in units.spans]


def evidence_units(tokens: SafeTokenizer, text: QuotableText) -> WordUnits:
    """Return the units of an evidence text; their spans are numbers of words of `text`."""
    return divide_tokens(tokens, text.text, [(word.start, word.end) for word in text.words])


def _span_of_character(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the number of the span of each character, -1 for white space between spans."""
    owner = [-1] * len(text)
    for number, (start, end) in enumerate(spans):
        owner[start:end] = [number] * (end - start)
    return owner
