"""Evidence spans token by token: which quotations a sequence of tokens may be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from proofs.quotes import quotables
from proofs.units import evidence_units
from trie import Tokens

# Token positions at which a quotation that is being read may have begun, ascending.
Starts = tuple[int, ...]


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

    def __init__(self, tokens: Tokens, evidence: Sequence[tuple[str, str]], closing: int) -> None:
        self._ids: list[int] = []
        self._ends: dict[int, list[int]] = {}
        self._characters: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.texts = quotables(evidence)
        for number, text in enumerate(self.texts):
            units = evidence_units(tokens, text)
            base = len(self._ids)
            self._ids.extend(units.ids)
            unit_of = {last: unit for unit, (_, last) in enumerate(units.spans)}
            for unit, (first, _) in enumerate(units.spans):
                begin = base + units.cuts[unit]
                for last in text.lasts(first):
                    if last not in unit_of:
                        continue
                    end = base + units.cuts[unit_of[last] + 1]
                    if closing in self._ids[begin:end]:
                        break
                    if end > begin:
                        self._ends.setdefault(begin, []).append(end)
                        span = text.words[first].start, text.words[last].end
                        self._characters[begin, end] = (number, *span)
        self._firsts: dict[int, Starts] = {}
        for begin in self._ends:
            token = self._ids[begin]
            self._firsts[token] = (*self._firsts.get(token, ()), begin)

    def following(self, starts: Starts, length: int, room: int) -> dict[int, Starts]:
        """Return the tokens that may follow and the starts that remain possible behind each.

        Parameters
        ----------
        starts, length
            The quotation so far; any start is possible while `length` is 0.
        room
            Most tokens that may still be added; quotations that need more are left out.
        """
        if length == 0:
            kept = {
                token: tuple(s for s in begins if self._ends[s][0] - s <= room)
                for token, begins in self._firsts.items()
            }
            return {token: begins for token, begins in kept.items() if begins}
        found: dict[int, Starts] = {}
        for start in starts:
            position, ends = start + length, self._ends[start]
            at = bisect_left(ends, position + 1)
            if at < len(ends) and ends[at] - position <= room:
                token = self._ids[position]
                found[token] = (*found.get(token, ()), start)
        return found

    def complete(self, starts: Starts, length: int) -> bool:
        """Whether the tokens so far are a whole quotation."""
        return any((start, start + length) in self._characters for start in starts)

    def text(self, starts: Starts, length: int) -> str:
        """Return the original wording of a whole quotation; the first of several places."""
        at = next(s for s in starts if (s, s + length) in self._characters)
        return self._wording((at, at + length))

    def find(self, quoted: str) -> list[int]:
        """Return the tokens of a quotation: of `quoted`, or of the span that overlaps it most.

        Spans that begin or end inside a token cannot be quoted exactly. Empty if nothing can be
        quoted.
        """
        for key in self._characters:
            if self._wording(key) == quoted:
                return self._ids[slice(*key)]
        places = [text.text.find(quoted) for text in self.texts]
        best: tuple[float, tuple[int, int]] | None = None
        for key, (number, begin, end) in self._characters.items():
            place = places[number]
            common = min(end, place + len(quoted)) - max(begin, place) if place >= 0 else 0
            overlap = max(common, 0) / max(end - begin, len(quoted))
            if best is None or overlap > best[0]:
                best = overlap, key
        return self._ids[slice(*best[1])] if best is not None else []

    def _wording(self, key: tuple[int, int]) -> str:
        number, begin, end = self._characters[key]
        return self.texts[number].text[begin:end]
