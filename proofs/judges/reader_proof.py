"""The proof of a natural-logic reader: the most probable operators that end in the verdict.

Each span of the claim is a step, and successive independent spans are one. The verdict is the state
that the operators lead to, so a proof cannot differ from its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.logic import REFUTING_OPERATORS, NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep
from proofs.reader.automaton import best_path
from proofs.verifier import Reading, Sentence


def reader_proof(
    claim: str, evidence: Sequence[Sentence], reading: Reading, verdict: Verdict
) -> Proof:
    """Return the most probable proof of a verdict, by a reading with operators."""
    operators = best_path(reading.operators.tolist(), verdict)
    begins = [begin for begin, _ in reading.spans]
    steps: list[ProofStep] = []
    independent_from = 0
    for at, (operator, (same, other)) in enumerate(zip(operators, reading.quotes, strict=True)):
        quote = other if operator in REFUTING_OPERATORS else same
        end = begins[at + 1] if at + 1 < len(begins) else len(claim)
        is_open = operator is NatOp.INDEPENDENCE
        if is_open and steps and steps[-1].operator is NatOp.INDEPENDENCE:
            steps[-1] = ProofStep(claim[independent_from:end].strip(), "", operator)
            continue
        begin = begins[at] if at else 0
        if is_open or quote is None:
            independent_from = begin
            steps.append(ProofStep(claim[begin:end].strip(), "", NatOp.INDEPENDENCE))
            continue
        title, sentence = evidence[quote.sentence_id]
        words = (title if quote.in_title else sentence)[quote.start : quote.end]
        steps.append(ProofStep(claim[begin:end].strip(), words, operator).quoted_at(quote))
    return Proof(tuple(steps))
