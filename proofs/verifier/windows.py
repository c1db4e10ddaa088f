"""Evidence of any length: read in windows first, then the sentences that say most together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from proofs.verifier import (
    LABELS,
    NEUTRAL,
    NOTHING_KNOWN,
    Reading,
    Scale,
    Sentence,
    nothing_known,
)

MAX_SENTENCES = 6


class Windowed(Protocol):
    """An encoded claim with a window of its evidence."""

    @property
    def markers(self) -> list[int]:
        """Positions of the markers of the sentences that are read."""

    @property
    def unread(self) -> list[int]:
        """Numbers of the sentences that are not read, or not to their end."""


Item = TypeVar("Item", bound=Windowed)


class WindowReader(ABC, Generic[Item]):
    """Reads evidence of any length, with a model that reads `MAX_SENTENCES` at most at once."""

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim, pairs of title and sentence, does to it."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    @abstractmethod
    def _encode(self, claim: str, window: list[Sentence]) -> Item:
        """Encode a claim with sentences."""

    @abstractmethod
    def _run(self, claim: str, window: list[Sentence], item: Item, scale: Scale) -> Reading:
        """Run the model on an input."""

    @abstractmethod
    def _scale(self, evidence: Sequence[Sentence]) -> Scale:
        """Return the calibration for some evidence."""

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence or not claim.strip():
            return nothing_known(len(evidence))
        scale = self._scale(evidence)
        item = self._encode(claim, evidence[:MAX_SENTENCES])
        if len(item.markers) == len(evidence) and not item.unread:
            return self._run(claim, evidence, item, scale)
        sentences = np.zeros((len(evidence), len(LABELS)))
        unread: list[int] = []
        begin = 0
        while begin < len(evidence):
            window = evidence[begin : begin + MAX_SENTENCES]
            item = self._encode(claim, window)
            part = self._run(claim, window, item, scale)
            # What a window cuts is read at the beginning of the next one, where there is most room.
            size = next((number for number in item.unread if number), len(window))
            sentences[begin : begin + size] = part.sentences[:size]
            unread += [begin] if 0 in item.unread else []
            begin += size
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")[:MAX_SENTENCES]
        best, item = self._fitting(claim, evidence, ranked, set(unread))
        whole = self._run(claim, [evidence[number] for number in best], item, scale)
        sentences[best] = whole.sentences
        quotes = [q and replace(q, sentence_id=int(best[q.sentence_id])) for q in whole.quotes]
        return replace(whole, sentences=sentences, unread=tuple(unread), quotes=tuple(quotes))

    def _fitting(
        self, claim: str, evidence: list[Sentence], ranked: np.ndarray, cut: set[int]
    ) -> tuple[np.ndarray, Item]:
        for count in range(len(ranked), 0, -1):
            best = np.sort(ranked[:count])
            item = self._encode(claim, [evidence[number] for number in best])
            # A sentence that is too long alone is cut in any company.
            if {int(best[number]) for number in item.unread} <= cut:
                break
        return best, item


def sentence_probabilities(logits: np.ndarray, count: int, scale: Scale) -> np.ndarray:
    """Return the probabilities of `LABELS` for each of some sentences, of which not all are read.

    `logits`: those of the sentences that are read, (sentences, 3).
    """
    own = np.tile(NOTHING_KNOWN, (count, 1))
    own[: len(logits)] = scale.probabilities(logits, whole=False)
    return own
