"""Where words end in a sequence of tokens: positions at which a span may begin and end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proofs.logic.quotable_spans import Quotable
from proofs.logic.words import word_spans
from trie import SafeTokenizer


@dataclass(frozen=True, slots=True)
class Units:
    """The tokens of a text, divided into units: the smallest spans that both words and tokens have.

    Mostly a unit is a word. It is more where a token spans two words, and where a word has no token
    of its own, such as a lone control character.

    Attributes
    ----------
    ids
        The token ids of the text.
    cuts
        Positions in `ids`, ascending: unit ``u`` has the tokens ``[cuts[u], cuts[u + 1])``.
    spans
        The first and last (included) given span of each unit.
    """

    ids: tuple[int, ...]
    cuts: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def divide(
    tokens: SafeTokenizer,
    text: str,
    spans: Sequence[tuple[int, int]],
    never_first: Collection[int] = (),
) -> Units:
    """Divide a text's tokens at the borders of spans of characters.

    Parameters
    ----------
    tokens
        The tokenizer.
    text
        The text.
    spans
        Characters ``[start, end)`` in order, not overlapping, with white space alone between them.
    never_first
        Tokens that no unit but the first may begin with.
    """
    ids, offsets = tokens.encode_with_offsets(text)
    if not spans:
        return Units((), (0,), ())
    owner = _owners(text, spans)
    # For each span the last token that touches it or an earlier one, and the first that touches
    # it or a later one: a border between spans is a border between tokens if these do not cross.
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
    return Units(tuple(ids), (*cuts, len(ids)), tuple(zip(begins, ends, strict=True)))


def claim_units(
    tokens: SafeTokenizer, claim: str, closing: int
) -> tuple[Units, list[tuple[int, int]]]:
    """Return the units of a claim and their characters.

    No unit begins with the token `closing`: behind a claim span it would read as the span's end.
    """
    words = word_spans(claim)
    units = divide(tokens, claim, words, (closing,))
    return units, [(words[a][0], words[b][1]) for a, b in units.spans]


def evidence_units(tokens: SafeTokenizer, text: Quotable) -> Units:
    """Return the units of an evidence text; their spans number the words of `text`."""
    return divide(tokens, text.text, [(word.start, word.end) for word in text.words])


def _owners(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each character the number of its span, -1 for white space between spans."""
    owner = [-1] * len(text)
    for number, (start, end) in enumerate(spans):
        owner[start:end] = [number] * (end - start)
    return owner
