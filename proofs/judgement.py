"""What a sufficiency judge says about a claim and its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.proof import Proof


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the evidence suffices to verify the claim, and the proof where there is one."""

    sufficient: bool
    proof: Proof | None
