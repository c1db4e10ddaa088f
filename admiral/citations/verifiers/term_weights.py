"""Stems of texts and their inverse document frequencies over passages."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from importlib import resources

from admiral.kb.bm25.analysis import STOP_WORDS, porter

_WORD = re.compile(r"[a-z0-9]+")


def word_stem(word: str) -> str:
    """Return the stem of a lower-case word; empty for a stop word."""
    return "" if word in STOP_WORDS else _stem(word)


def text_stems(text: str) -> list[str]:
    """Return the stems of the words of a text in order, without stop words.

    Words are runs of ASCII letters and digits in lower case; stems are Porter's.
    """
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class TermWeights:
    """Inverse document frequencies of stems.

    The weight of a stem is ``ln(1 + (N - n + 0.5) / (n + 0.5))`` for `N` texts, `n` of which
    contain it.

    Parameters
    ----------
    frequencies
        Number of texts that contain each stem.
    total
        Number of texts.
    """

    def __init__(self, frequencies: Counter[str], total: int) -> None:
        self._frequencies, self._total = frequencies, total

    @classmethod
    def of(cls, texts: Iterable[str]) -> TermWeights:
        """Return the weights over texts."""
        frequencies: Counter[str] = Counter()
        total = 0
        for text in texts:
            total += 1
            frequencies.update(set(text_stems(text)))
        return cls(frequencies, total)

    @classmethod
    def background(cls) -> TermWeights:
        """Return the weights over the documents of the bundled demo corpus."""
        return _background()

    def __add__(self, other: TermWeights) -> TermWeights:
        """Return the weights over the texts of both."""
        return TermWeights(self._frequencies + other._frequencies, self._total + other._total)

    def weight(self, stem: str) -> float:
        """Return the weight of a stem, which is positive."""
        containing = self._frequencies.get(stem, 0)
        return math.log(1 + (self._total - containing + 0.5) / (containing + 0.5))

    def coverage(self, claim: Collection[str], text: Collection[str]) -> float:
        """Return the share of the claim's weight that a text contains; 0 for a claim without stems.

        Parameters
        ----------
        claim, text
            Distinct stems.
        """
        total = sum(map(self.weight, claim))
        return sum(self.weight(stem) for stem in claim if stem in text) / total if total else 0.0


@lru_cache(1 << 17)
def _stem(word: str) -> str:
    return porter(word)


@cache
def _background() -> TermWeights:
    file = resources.files("admiral") / "data" / "demo" / "documents.jsonl"
    records = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return TermWeights.of(f"{one['title']} {' '.join(one['sentences'])}" for one in records)
