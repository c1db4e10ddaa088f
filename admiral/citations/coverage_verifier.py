"""Verify by counting words: the weighted share of the claim's stems that a passage contains.

It needs no training and is the baseline that other verifiers have to beat. `CitationVerifier` is
the interface of all of them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from typing import Protocol

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.kb.bm25.analysis import STOP_WORDS, porter
from admiral.sources import Passage
from proofs.lexicons.values import value
from proofs.logic.words import split_words


class CitationVerifier(Protocol):
    """Scores passages of sources for claims in context.

    A claim gets the same scores in any batch. Scores are finite; a higher one means more support.
    """

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        ...


class CascadeVerifier:
    """Score the passages that a cheap verifier ranks best by a close one.

    The other passages of a claim get the lowest score of those that the close verifier read.
    `limit`: number of passages of each source that `close` reads; 0 for all.
    """

    def __init__(self, cheap: CitationVerifier, close: CitationVerifier, limit: int) -> None:
        self._cheap, self._close, self._limit = cheap, close, limit

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        if not self._limit:
            return self._close.score(claims, passages)
        chosen = [
            sorted(sorted(range(len(row)), key=lambda at: -row[at])[: self._limit])
            for row in self._cheap.score(claims, passages)
        ]
        read = [[own[at] for at in ats] for own, ats in zip(passages, chosen, strict=True)]
        results = []
        for own, ats, scores in zip(passages, chosen, self._close.score(claims, read), strict=True):
            row = [min(scores, default=0.0)] * len(own)
            for at, score in zip(ats, scores, strict=True):
                row[at] = score
            results.append(row)
        return results


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


_NO_LIMIT = 1 << 30


class CoverageVerifier:
    """Score passages by the share of the claim's stems in them, weighted by rarity, from 0 to 1.

    The title of the source is not counted as part of a passage. `context`: whose words must be
    covered; those of the claim alone by default.
    """

    def __init__(self, weights: TermWeights, context: ContextForm = "claim") -> None:
        self._weights, self._context = weights, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the coverage of each claim by each of its passages."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            text = claim_in_context(claim, self._context, max_tokens=_NO_LIMIT)
            stems = sorted(set(text_stems(text)))  # sorted: sums do not depend on the hash seed
            scores.append(
                [self._weights.coverage(stems, passage_stems(passage.text)) for passage in own]
            )
        return scores


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
