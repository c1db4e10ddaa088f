"""Phrases that a lexicon treats as one word, such as "motion picture" in a list of paraphrases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Phrases:
    """Finds known phrases in a sequence of words.

    Parameters
    ----------
    known
        Phrases of normalised words, separated by single spaces.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._longest = max((phrase.count(" ") + 1 for phrase in self._known), default=0)

    def find(self, norms: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return (first word, end, phrase) for the longest phrase that begins at each word."""
        places = []
        for at in range(len(norms) if self._known else 0):
            for end in range(min(at + self._longest, len(norms)), at + 1, -1):
                text = " ".join(norms[at:end])
                if text in self._known:
                    places.append((at, end, text))
                    break
        return places

    def merge(self, norms: Sequence[str]) -> list[str]:
        """Return the words with each phrase joined into one word."""
        words, at = [], 0
        for first, end, text in self.find(norms):
            if first >= at:
                words += [*norms[at:first], text]
                at = end
        return [*words, *norms[at:]]
