"""Verify by a proof: the least covered step of the calibrated judge's proof."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.citations.verifiers.sentence_states import passage_sentences
from admiral.library.source_records import Passage
from proofs.judges.calibrated import CalibratedJudge

# The proof aligns every span of the claim with every span of the evidence.
_MAX_WORDS = 100
# The score of a passage or claim without words, below that of any proof.
_LOWEST = -10.0


class ProofVerifier:
    """Score passages by the proof that the calibrated judge writes from their sentences.

    The score is the negative of the highest step score: that of the step that is covered least.

    Parameters
    ----------
    judge
        The judge.
    context
        How much of the claim's context is read.
    """

    def __init__(
        self, judge: CalibratedJudge | None = None, context: ContextForm = "claim"
    ) -> None:
        self._judge, self._context = judge or CalibratedJudge(), context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            text = claim_in_context(claim, self._context, max_tokens=_MAX_WORDS)
            scores.append([self._score(text, passage) for passage in own])
        return scores

    def _score(self, claim: str, passage: Passage) -> float:
        evidence = [(passage.title, text) for text in passage_sentences(passage.text)]
        draft = self._judge.draft(claim, evidence)
        return _LOWEST if draft is None else max(-draft.highest, _LOWEST)
