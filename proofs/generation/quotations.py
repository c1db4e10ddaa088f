"""Where spans may begin and end in tokens, and the spans of the evidence that a proof may quote."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proofs.logic.quotable_spans import QuotableText, quotable_texts
from proofs.logic.words import word_spans
from trie import BoundedTrieSequence, SafeTokenizer, TokenTrie


@dataclass(frozen=True, slots=True)
class WordUnits:
    """The tokens of a text, divided into units: the smallest spans of both words and tokens.

    A unit is usually a word. It is longer if a token spans two words, or if a word has no token of
    its own, such as a lone control character.
    """

    ids: tuple[int, ...]
    # Positions in `ids`, ascending: unit ``u`` has the tokens ``[cuts[u], cuts[u + 1])``.
    cuts: tuple[int, ...]
    # The first and last (inclusive) character span that each unit covers.
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


class Quotations:
    """All spans of the evidence that may be quoted, as spans of its tokens.

    Token positions count through the texts of the evidence, titles and sentences, in order.

    Parameters
    ----------
    closing
        The token of ``]``, which no quotation may contain.

    Attributes
    ----------
    segment
        The quotations as a segment of a grammar, or None if nothing can be quoted.
    """

    def __init__(
        self, tokens: SafeTokenizer, evidence: Sequence[tuple[str, str]], closing: int
    ) -> None:
        self._ids = ids = list[int]()
        # For each quotation: its tokens, and the number and the characters of its text.
        self._token_spans: list[tuple[int, int]] = []
        self._text_spans: list[tuple[int, int, int]] = []
        self.texts = quotable_texts(evidence)
        for number, text in enumerate(self.texts):
            units = evidence_units(tokens, text)
            base = len(ids)
            ids.extend(units.ids)
            unit_ending_at = {last: unit for unit, (_, last) in enumerate(units.spans)}
            for unit, (first, _) in enumerate(units.spans):
                begin = base + units.cuts[unit]
                for last in text.span_ends(first):
                    if last not in unit_ending_at:
                        continue
                    end = base + units.cuts[unit_ending_at[last] + 1]
                    if closing in ids[begin:end]:
                        break
                    if end > begin:
                        self._token_spans.append((begin, end))
                        characters = text.words[first].start, text.words[last].end
                        self._text_spans.append((number, *characters))
        self._trie = TokenTrie.build(ids[begin:end] for begin, end in self._token_spans)
        self.segment = BoundedTrieSequence(self._trie) if self._token_spans else None

    def text(self, quoted: Sequence[int]) -> str:
        """Return the original text of a complete quotation, at its first occurrence."""
        rows = self._trie.rows(self._trie.walk(quoted))
        return self._original(self._text_spans[rows[0]])

    def token_ids(self, quoted: str) -> list[int]:
        """Return the tokens of a quotation, or of the one that overlaps it most.

        A span that begins or ends inside a token cannot be quoted exactly. The list is empty if
        nothing can be quoted.
        """
        for token_span, text_span in zip(self._token_spans, self._text_spans, strict=True):
            if self._original(text_span) == quoted:
                return self._ids[slice(*token_span)]
        starts = [text.text.find(quoted) for text in self.texts]
        best: tuple[float, tuple[int, int]] | None = None
        for token_span, (number, begin, end) in zip(
            self._token_spans, self._text_spans, strict=True
        ):
            start = starts[number]
            common = min(end, start + len(quoted)) - max(begin, start) if start >= 0 else 0
            overlap = max(common, 0) / max(end - begin, len(quoted))
            if best is None or overlap > best[0]:
                best = overlap, token_span
        return self._ids[slice(*best[1])] if best is not None else []

    def _original(self, text_span: tuple[int, int, int]) -> str:
        number, begin, end = text_span
        return self.texts[number].text[begin:end]
