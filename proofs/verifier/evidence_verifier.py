"""The verifier at work: what evidence, and each sentence of it, does to a claim.

A model reads at most six sentences with a claim, or fewer where they are long. Of longer evidence,
windows are read first, then together the sentences that say most about the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from proofs.verifier.evidence_input import EvidenceEncoder, EvidenceInput
from proofs.verifier.label_names import LABELS
from proofs.verifier.label_scales import Calibration, Scale
from proofs.verifier.reading import NEUTRAL, NOTHING_KNOWN, Reading, Sentence, nothing_known

MAX_SENTENCES = 6
Scores = tuple[np.ndarray, np.ndarray, np.ndarray]


class Backend(Protocol):
    """Runs a model on one input."""

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits of the whole, (3,), and of each token by the heads, (length, 3)."""
        ...


class EvidenceVerifier:
    """Reads claims with their evidence.

    Parameters
    ----------
    backend
        Runs the model. Inputs run one by one, so that a reading does not depend on others.
    encoder
        Encodes its inputs.
    calibration
        How its outputs become probabilities.
    """

    def __init__(
        self,
        backend: Backend,
        encoder: EvidenceEncoder,
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
    ) -> None:
        self._backend, self._encoder, self.calibration = backend, encoder, calibration

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim, pairs of title and sentence, does to it."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence or not claim.strip():
            return nothing_known(len(evidence))
        scale = self.calibration.of(evidence)
        item = self._encode(claim, evidence[:MAX_SENTENCES])
        if len(item.markers) == len(evidence) and not item.unread:
            return self._run(item, len(evidence), scale)
        sentences = np.zeros((len(evidence), len(LABELS)))
        unread: list[int] = []
        begin = 0
        while begin < len(evidence):
            window = evidence[begin : begin + MAX_SENTENCES]
            item = self._encode(claim, window)
            part = self._run(item, len(window), scale)
            # What a window cuts is read at the beginning of the next one, where there is most room.
            size = next((number for number in item.unread if number), len(window))
            sentences[begin : begin + size] = part.sentences[:size]
            unread += [begin] if 0 in item.unread else []
            begin += size
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")[:MAX_SENTENCES]
        best, item = self._fitting(claim, evidence, ranked, set(unread))
        whole = self._run(item, len(best), scale)
        sentences[best] = whole.sentences
        return replace(whole, sentences=sentences, unread=tuple(unread))

    def _fitting(
        self, claim: str, evidence: list[Sentence], ranked: np.ndarray, cut: set[int]
    ) -> tuple[np.ndarray, EvidenceInput]:
        """Return the first of ranked sentences that fit together, in their order, as an input."""
        for count in range(len(ranked), 0, -1):
            best = np.sort(ranked[:count])
            item = self._encode(claim, [evidence[number] for number in best])
            # A sentence that is too long alone is cut in any company.
            if {int(best[number]) for number in item.unread} <= cut:
                break
        return best, item

    def _encode(self, claim: str, evidence: list[Sentence]) -> EvidenceInput:
        (item,) = self._encoder.encode([claim], [evidence])
        return item

    def _run(self, item: EvidenceInput, count: int, scale: Scale) -> Reading:
        whole, sentences, tokens = self._backend(item)
        own = np.tile(NOTHING_KNOWN, (count, 1))
        own[: len(item.markers)] = scale.probabilities(sentences[item.markers], whole=False)
        at = slice(item.claim, item.claim + len(item.offsets))
        return Reading(
            scale.probabilities(whole),
            own,
            scale.probabilities(tokens[at], whole=False),
            tuple(item.offsets),
            tuple(item.unread),
            item.claim_cut,
        )
