"""The words of claims and sources: their stems, how rare these are, and which a source lacks."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import chain

from admiral.kb.bm25.analysis import STOP_WORDS, porter
from admiral.sources import Passage
from proofs.lexicons.values import value
from proofs.logic.words import split_words

_WORD = re.compile(r"[a-z0-9]+")


def text_stems(text: str) -> list[str]:
    """Return the stems of the words of a text in order, without stop words.

    Words are runs of ASCII letters and digits in lower case; stems are Porter's.
    """
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class TermWeights:
    """Inverse document frequencies of stems.

    The weight of a stem is ``ln(1 + (N - n + 0.5) / (n + 0.5))`` for `N` texts, `n` of which
    contain it. `frequencies`: number of texts that contain each stem. `total`: number of texts.
    """

    def __init__(self, frequencies: Counter[str], total: int) -> None:
        self._frequencies, self._total = frequencies, total

    @classmethod
    def of(cls, texts: Iterable[str]) -> TermWeights:
        """Return the weights over texts."""
        stems = [set(text_stems(text)) for text in texts]
        return cls(Counter(chain.from_iterable(stems)), len(stems))

    @classmethod
    @cache
    def background(cls) -> TermWeights:
        """Return the weights over the documents of the bundled demo corpus."""
        file = resources.files("admiral") / "data" / "demo" / "documents.jsonl"
        records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        return cls.of(f"{one['title']} {' '.join(one['sentences'])}" for one in records)

    def __add__(self, other: TermWeights) -> TermWeights:
        """Return the weights over the texts of both."""
        return TermWeights(self._frequencies + other._frequencies, self._total + other._total)

    def weight(self, stem: str) -> float:
        """Return the weight of a stem, which is positive."""
        containing = self._frequencies.get(stem, 0)
        return math.log(1 + (self._total - containing + 0.5) / (containing + 0.5))

    def coverage(self, claim: Collection[str], text: Collection[str]) -> float:
        """Return the share of the claim's weight that a text contains; 0 for a claim without stems.

        `claim`, `text`: distinct stems.
        """
        total = sum(map(self.weight, claim))
        return sum(self.weight(stem) for stem in claim if stem in text) / total if total else 0.0


@lru_cache(1 << 17)
def _stem(word: str) -> str:
    return porter(word)


@lru_cache(1 << 13)
def passage_stems(text: str) -> frozenset[str]:
    """Return the distinct stems of a passage, cached: parts of a claim read the same passages."""
    return frozenset(text_stems(text))


# A claim that lacks more names or values is not worse.
_MOST = 5


def uncovered(claim: str, passages: Sequence[Passage]) -> float:
    """Return the square root of the number of names and values of a claim that a source lacks.

    The first one says most. Names are capitalised words.
    """
    source = frozenset[str]().union(*(passage_stems(passage.text) for passage in passages))
    words = [word for word in split_words(claim) if word.is_content]
    lacking = [word for word in words if not source.issuperset(text_stems(word.norm))]
    values = [word for word in lacking if value(word.norm) is not None]
    names = [w for w in lacking if claim[w.start].isupper() and value(w.norm) is None]
    return math.sqrt(min(len(names), _MOST) + min(len(values), _MOST))
