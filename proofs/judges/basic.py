"""Judges of sufficiency (paper, table 6): from the two trivial ones to the generated proof.

All have one method, ``judge``, which takes a batch of claims with their evidence, pairs of title
and sentence. Without any evidence every judge finds it insufficient, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proofs.drafting.drafts import lexical_proof
from proofs.judges.judgement import Judgement
from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.wordnet import default_lexicon
from proofs.logic.operators import NatOp
from proofs.logic.proof import MAX_STEPS, Proof, ProofStep

if TYPE_CHECKING:  # the generator needs torch, the other judges do not
    from proofs.generation.generator import ProofGenerator

Evidence = Sequence[tuple[str, str]]


class NeverSufficient:
    """Always asks for more: retrieval runs its full number of hops."""

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return an insufficient judgement without proof for each claim."""
        return [Judgement(False, None) for _ in zip(claims, evidence, strict=True)]


class AlwaysSufficient:
    """Content with any evidence: retrieval stops after the fewest hops that are allowed."""

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return a judgement without proof for each claim, sufficient where there is evidence."""
        return [Judgement(bool(texts), None) for _, texts in zip(claims, evidence, strict=True)]


class LexicalJudge:
    """Judges by a proof that chunks, alignment and lexicon suggest, without a model.

    Parameters
    ----------
    lexicon
        What is known about words; the built-in lexicon where not given.
    max_steps
        Most steps of a proof.
    """

    def __init__(self, lexicon: SpanLexicon | None = None, *, max_steps: int = MAX_STEPS) -> None:
        self._lexicon = lexicon or default_lexicon()
        self._max_steps = max_steps

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return each claim's lexical proof and what follows from it."""
        return [self._one(c, texts) for c, texts in zip(claims, evidence, strict=True)]

    def _one(self, claim: str, evidence: Evidence) -> Judgement:
        if not claim.split() or not evidence:
            return nothing_to_go_on(claim)
        proof = lexical_proof(claim, evidence, lexicon=self._lexicon, max_steps=self._max_steps)
        return Judgement(proof.sufficient, proof)


class GeneratedProofJudge:
    """Judges by the best proof that a trained model generates (paper, section 3.2).

    A claim that is too long for the model to decode a proof of is judged insufficient, without one.

    Parameters
    ----------
    generator
        Writes the proofs. If it stops at independence, the judgement of insufficient evidence
        carries no proof: what was written does not cover the claim.
    """

    def __init__(self, generator: ProofGenerator) -> None:
        self._generator = generator
        self.max_evidence = generator.max_evidence

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return each claim's best proof and what follows from it."""
        found = [nothing_to_go_on(c) for c, _ in zip(claims, evidence, strict=True)]
        asked = [at for at, texts in enumerate(evidence) if texts and claims[at].split()]
        proofs = self._generator.generate(
            [claims[at] for at in asked], [evidence[at] for at in asked]
        )
        for at, candidates in zip(asked, proofs, strict=True):
            found[at] = Judgement(False, None)
            if candidates:
                found[at] = self._judgement(candidates[0].proof)
        return found

    def _judgement(self, proof: Proof) -> Judgement:
        partial = self._generator.stop_at_independence and not proof.sufficient
        return Judgement(proof.sufficient, None if partial else proof)


def nothing_to_go_on(claim: str) -> Judgement:
    """Return the judgement of a claim that nothing covers."""
    whole = claim.strip()
    proof = Proof((ProofStep(whole, "", NatOp.INDEPENDENCE),)) if whole else None
    return Judgement(False, proof)
