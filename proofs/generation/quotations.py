"""The spans of the evidence that a proof may quote, as token sequences for the proof grammar."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.generation.word_units import evidence_units
from proofs.logic.quotable_spans import quotable_texts
from trie import BoundedTrieSequence, SafeTokenizer, TokenTrie


class Quotations:
    """All spans of the evidence that may be quoted, as spans of its tokens.

    Token positions count through the texts of the evidence, titles and sentences, in order.

    Parameters
    ----------
    tokens
        The tokenizer.
    evidence
        Pairs of title and sentence.
    closing
        The token of ``]``, which no quotation may contain.

    Attributes
    ----------
    texts
        The titles and sentences.
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
