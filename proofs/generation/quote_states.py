"""Evidence spans token by token: which quotations a sequence of tokens may be."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.generation.word_units import evidence_units
from proofs.logic.quotable_spans import quotables
from trie import BoundedTrieSequence, SafeTokenizer, span_trie


class Quotations:
    """All spans of the evidence that may be quoted, as spans of its tokens.

    Positions count through the tokens of all texts (titles and sentences) one after the other.

    Parameters
    ----------
    tokens
        The tokenizer.
    evidence
        Pairs of title and sentence.
    closing
        The token of ``]``, which no quotation may hold.
    """

    def __init__(
        self, tokens: SafeTokenizer, evidence: Sequence[tuple[str, str]], closing: int
    ) -> None:
        self._ids = ids = list[int]()
        # The quotations: tokens, and the number and characters of the text that they stand for.
        self._spans: list[tuple[int, int]] = []
        self._characters: list[tuple[int, int, int]] = []
        self.texts = quotables(evidence)
        for number, text in enumerate(self.texts):
            units = evidence_units(tokens, text)
            base = len(ids)
            ids.extend(units.ids)
            unit_of = {last: unit for unit, (_, last) in enumerate(units.spans)}
            for unit, (first, _) in enumerate(units.spans):
                begin = base + units.cuts[unit]
                for last in text.lasts(first):
                    if last not in unit_of:
                        continue
                    end = base + units.cuts[unit_of[last] + 1]
                    if closing in ids[begin:end]:
                        break
                    if end > begin:
                        self._spans.append((begin, end))
                        span = text.words[first].start, text.words[last].end
                        self._characters.append((number, *span))
        self._trie = span_trie(ids, self._spans)
        #: The quotations as a segment, None if nothing can be quoted.
        self.segment = BoundedTrieSequence(self._trie) if self._spans else None

    def text(self, quoted: Sequence[int]) -> str:
        """Return the original wording of a whole quotation; the first of several places."""
        rows = self._trie.rows(self._trie.walk(quoted))
        return self._wording(self._characters[rows[0]])

    def find(self, quoted: str) -> list[int]:
        """Return the tokens of a quotation: of `quoted`, or of the span that overlaps it most.

        Spans that begin or end inside a token cannot be quoted exactly. Empty if nothing can be
        quoted.
        """
        for span, characters in zip(self._spans, self._characters, strict=True):
            if self._wording(characters) == quoted:
                return self._ids[slice(*span)]
        places = [text.text.find(quoted) for text in self.texts]
        best: tuple[float, tuple[int, int]] | None = None
        for span, (number, begin, end) in zip(self._spans, self._characters, strict=True):
            place = places[number]
            common = min(end, place + len(quoted)) - max(begin, place) if place >= 0 else 0
            overlap = max(common, 0) / max(end - begin, len(quoted))
            if best is None or overlap > best[0]:
                best = overlap, span
        return self._ids[slice(*best[1])] if best is not None else []

    def _wording(self, characters: tuple[int, int, int]) -> str:
        number, begin, end = characters
        return self.texts[number].text[begin:end]
