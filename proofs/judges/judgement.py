"""The judgement of a sufficiency judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proofs.logic.operators import NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep

#: The evidence of a claim: pairs of title and sentence.
Evidence = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's decision on a claim and its evidence.

    Attributes
    ----------
    sufficient
        Whether the evidence suffices to verify the claim.
    proof
        The proof, or None if the judge writes none.
    probability
        Probability that the evidence is sufficient; None without a verifier.
    verdicts
        Probability of each verdict; None without a verifier.
    """

    sufficient: bool
    proof: Proof | None
    probability: float | None = None
    verdicts: Mapping[Verdict, float] | None = None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the claim, which may be wrong; None without a proof.

        It is the most probable one. Without probabilities, it is that of the proof, and NOT ENOUGH
        INFO if the evidence is insufficient.
        """
        if self.verdicts is not None:
            return max(self.verdicts, key=self.verdicts.__getitem__)
        if self.proof is None:
            return None
        return self.proof.verdict() if self.sufficient else Verdict.NOT_ENOUGH_INFO

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The claim spans that the evidence does not cover; None without a proof."""
        return None if self.proof is None else self.proof.missing


def uncovered(claim: str) -> Judgement:
    """Return the judgement of a claim without evidence: one independent step, if it has words."""
    whole = claim.strip()
    proof = Proof((ProofStep(whole, "", NatOp.INDEPENDENCE),)) if whole else None
    return Judgement(False, proof)
