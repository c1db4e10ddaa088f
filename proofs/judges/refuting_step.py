"""Make the steps of a proof agree with a verdict on the claim as a whole.

A proof changes a claim into the evidence, span by span. If the claim as a whole contradicts the
evidence and no step of its proof does, one of them must: the one whose quotation, put in the place
of its claim span, takes away most of the contradiction. If the evidence as a whole supports the
claim, no step contradicts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from proofs.logic.operators import REFUTING_OPERATORS, NatOp, Verdict
from proofs.logic.proof import Proof
from proofs.logic.words import NEGATIONS, locate_spans, split_words
from proofs.verifier.label_names import LABELS
from proofs.verifier.pair_verifier import Verifier

# A smaller change of the probability may be that of any other wording.
_MIN_CHANGE = 0.1
_CONTRADICTION = LABELS.index("contradiction")


@dataclass(frozen=True, slots=True)
class RefutedClaim:
    """A claim that the verdict refutes, though no step of its proof does.

    Attributes
    ----------
    claim, evidence
        The claim, and the text of the evidence that contradicts it most.
    contradiction
        Probability that the evidence contradicts the claim.
    proof
        A proof whose steps cover the whole claim.
    """

    claim: str
    evidence: str
    contradiction: float
    proof: Proof


def needs_refuting_step(proof: Proof, verdict: Verdict | None) -> bool:
    """Return whether a proof covers its claim and supports what the verdict refutes."""
    return verdict is Verdict.REFUTES and proof.sufficient and proof.verdict() is Verdict.SUPPORTS


def without_refuting_steps(proof: Proof) -> Proof:
    """Return a proof whose contradicting steps say the same as the evidence."""
    return Proof(
        tuple(
            replace(step, operator=NatOp.EQUIVALENCE)
            if step.operator in REFUTING_OPERATORS
            else step
            for step in proof.steps
        )
    )


def refutes_supported_claim(proof: Proof, verdict: Verdict | None) -> bool:
    """Return whether a proof covers its claim and refutes what the verdict supports."""
    return verdict is Verdict.SUPPORTS and proof.sufficient and proof.verdict() is Verdict.REFUTES


def with_refuting_steps(verifier: Verifier, refuted: Sequence[RefutedClaim]) -> list[Proof]:
    """Return the proofs, each with the step that contradicts the evidence if there is one.

    The step becomes a negation if one of its spans is negated and the other is not, and otherwise
    an alternation.
    """
    mutations = [
        (number, step, mutated)
        for number, one in enumerate(refuted)
        for step, mutated in enumerate(mutated_claims(one.claim, one.proof))
        if mutated != one.claim
    ]
    proofs = [one.proof for one in refuted]
    if not mutations:
        return proofs
    predicted = verifier.predict(
        [mutated for _, _, mutated in mutations],
        [refuted[number].evidence for number, _, _ in mutations],
    ).labels[:, _CONTRADICTION]
    best: dict[int, tuple[float, int]] = {}
    for (number, step, _), contradiction in zip(mutations, predicted.tolist(), strict=True):
        change = refuted[number].contradiction - contradiction
        best[number] = max(best.get(number, (_MIN_CHANGE, -1)), (change, step))
    for number, (_, at) in best.items():
        if at >= 0:
            proofs[number] = _refuting(proofs[number], at)
    return proofs


def mutated_claims(claim: str, proof: Proof) -> list[str]:
    """Return the claim with the span of each step replaced by its quotation."""
    places = locate_spans(claim, (step.claim for step in proof.steps))
    return [
        claim[:start] + step.evidence + claim[end:]
        for step, (start, end) in zip(proof.steps, places, strict=True)
    ]


def _refuting(proof: Proof, at: int) -> Proof:
    step = proof.steps[at]
    negated = _is_negated(step.claim) != _is_negated(step.evidence)
    operator = NatOp.NEGATION if negated else NatOp.ALTERNATION
    return Proof(
        (*proof.steps[:at], replace(step, operator=operator), *proof.steps[at + 1 :]),
    )


def _is_negated(text: str) -> bool:
    return any(word.norm in NEGATIONS for word in split_words(text))
