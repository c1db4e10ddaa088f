"""Verify by a trained cross-encoder: any local Hugging Face classifier of pairs."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.library.source_records import Passage
from proofs.verifier.label_names import LABELS
from proofs.verifier.pair_input import evidence_text
from proofs.verifier.pair_verifier import Verifier

_ENTAILED = LABELS.index("entailment")
# Probabilities are rounded floats; this bounds their logits to about 14.
_SMALLEST = 1e-6


class PairClassifierVerifier:
    """Score passages by the log-odds that they entail the claim.

    Parameters
    ----------
    classifier
        The classifier.
    context
        How much of the claim's context is read.
    """

    def __init__(self, classifier: Verifier, context: ContextForm = "claim") -> None:
        self._classifier, self._context = classifier, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        pairs = [
            (claim_in_context(claim, self._context), evidence_text([(p.title, p.text)]))
            for claim, own in zip(claims, passages, strict=True)
            for p in own
        ]
        if not pairs:
            return [[] for _ in claims]
        predictions = self._classifier.predict(*map(list, zip(*pairs, strict=True)))
        entailed = predictions.labels[:, _ENTAILED].clamp(_SMALLEST, 1 - _SMALLEST)
        logits = iter(torch.logit(entailed.double()).tolist())
        return [[next(logits) for _ in own] for own in passages]
