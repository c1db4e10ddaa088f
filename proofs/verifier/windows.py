"""Evidence of any length: read in windows first, then the sentences that say most together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from proofs.logic.words import Quotation
from proofs.verifier import (
    LABELS,
    NEUTRAL,
    NOTHING_KNOWN,
    Calibration,
    Reading,
    Scale,
    Sentence,
    nothing_known,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowInput:
    """A claim with a window of its evidence as numbers."""

    ids: list[int]
    markers: list[int]  # position of the marker of each sentence that is read
    unread: list[int]  # numbers of the sentences that are not read, or not to their end
    claim_cut: bool  # whether the claim is not read to its end

    @property
    def cut(self) -> bool:
        """Whether anything is not read."""
        return self.claim_cut or bool(self.unread)


Item = TypeVar("Item", bound=WindowInput)
Encoded = TypeVar("Encoded", bound=WindowInput, covariant=True)
Scores = TypeVar("Scores")


class Encoder(Protocol[Encoded]):
    """Encodes claims with their evidence."""

    def encode(
        self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]
    ) -> Sequence[Encoded]:
        """Return the input of each claim with its sentences."""
        ...


class WindowReader(ABC, Generic[Item, Scores]):
    """Reads evidence of any length, with a model that reads `max_sentences` at most at once.

    `backend`: runs the model. Inputs run one by one, so that a reading does not depend on others.
    """

    max_sentences = 6

    def __init__(
        self,
        backend: Callable[[Item], Scores],
        encoder: Encoder[Item],
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
    ) -> None:
        self._backend, self._encoder, self.calibration = backend, encoder, calibration

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim, pairs of title and sentence, does to it."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    @abstractmethod
    def _reading(
        self, claim: str, window: list[Sentence], item: Item, scores: Scores, scale: Scale
    ) -> Reading:
        """Return what the output of the model for a window says."""

    def _encode(self, claim: str, window: list[Sentence]) -> Item:
        (item,) = self._encoder.encode([claim], [window])
        return item

    def _run(self, claim: str, window: list[Sentence], item: Item, scale: Scale) -> Reading:
        return self._reading(claim, window, item, self._backend(item), scale)

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence or not claim.strip():
            return nothing_known(len(evidence))
        scale = self.calibration.of(evidence)
        item = self._encode(claim, evidence[: self.max_sentences])
        if len(item.markers) == len(evidence) and not item.unread:
            return self._run(claim, evidence, item, scale)
        sentences = np.zeros((len(evidence), len(LABELS)))
        unread: list[int] = []
        begin = 0
        while begin < len(evidence):
            window = evidence[begin : begin + self.max_sentences]
            item = self._encode(claim, window)
            part = self._run(claim, window, item, scale)
            # What a window cuts is read at the beginning of the next one, where there is most room.
            size = next((number for number in item.unread if number), len(window))
            sentences[begin : begin + size] = part.sentences[:size]
            unread += [begin] if 0 in item.unread else []
            begin += size
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")[: self.max_sentences]
        best, item = self._fitting(claim, evidence, ranked, set(unread))
        whole = self._run(claim, [evidence[number] for number in best], item, scale)
        sentences[best] = whole.sentences
        quotes = tuple((_moved(same, best), _moved(other, best)) for same, other in whole.quotes)
        return replace(whole, sentences=sentences, unread=tuple(unread), quotes=quotes)

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


def _moved(quote: Quotation | None, numbers: np.ndarray) -> Quotation | None:
    return quote and replace(quote, sentence_id=int(numbers[quote.sentence_id]))


def sentence_probabilities(logits: np.ndarray, count: int, scale: Scale) -> np.ndarray:
    """Return the probabilities of `LABELS` for each of some sentences, of which not all are read.

    `logits`: those of the sentences that are read, (sentences, 3).
    """
    own = np.tile(NOTHING_KNOWN, (count, 1))
    own[: len(logits)] = scale.probabilities(logits, whole=False)
    return own
