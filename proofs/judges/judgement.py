"""What a sufficiency judge says about a claim and its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.logic.operators import Verdict
from proofs.logic.proof import Proof


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the evidence suffices to verify the claim, and the proof where there is one."""

    sufficient: bool
    proof: Proof | None

    @property
    def verdict(self) -> Verdict | None:
        """What the proof says of the claim, which may be wrong; None without a proof.

        Evidence that the judge finds insufficient has no other verdict than NOT ENOUGH INFO.
        """
        if self.proof is None:
            return None
        return self.proof.verdict() if self.sufficient else Verdict.NOT_ENOUGH_INFO

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The claim spans that the evidence does not cover; None without a proof."""
        return None if self.proof is None else self.proof.missing
