"""The proof of a natural-logic reader: the most probable operators that end in the verdict.

Each span of the claim is a step, but successive independent spans are one, and a span without
content that is said, such as "who", belongs to the next one. The verdict is the state that the
operators lead to, so a proof cannot differ from its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.logic import REFUTING_OPERATORS, NatOp, Verdict, transition
from proofs.logic.proof import Proof, ProofStep
from proofs.logic.words import Quotation, content_stems, has_content
from proofs.reader.automaton import best_path
from proofs.verifier import Reading, Sentence


def reader_proof(
    claim: str, evidence: Sequence[Sentence], reading: Reading, verdict: Verdict
) -> Proof:
    """Return the most probable proof of a verdict, by a reading with operators."""
    operators = best_path(reading.operators.tolist(), verdict)
    steps: list[ProofStep] = []
    begin = open_from = 0
    state = Verdict.SUPPORTS
    for at, (operator, (same, other)) in enumerate(zip(operators, reading.quotes, strict=True)):
        is_last = at + 1 == len(operators)
        end = len(claim) if is_last else reading.spans[at + 1][0]
        span = claim[begin:end].strip()
        quote = other if operator in REFUTING_OPERATORS else same
        words = _quoted(evidence, quote)
        # What says less says nothing if it has no word of the span. The state is the same.
        says_less = operator is NatOp.REVERSE and state is not Verdict.REFUTES
        if says_less and content_stems(span).isdisjoint(content_stems(words)):
            operator = NatOp.INDEPENDENCE
        state = transition(state, operator)
        is_open = operator is NatOp.INDEPENDENCE
        if is_open and steps and steps[-1].operator is NatOp.INDEPENDENCE:
            steps[-1] = ProofStep(claim[open_from:end].strip(), "", operator)
        elif is_open:
            open_from = begin
            steps.append(ProofStep(span, "", operator))
        elif operator is NatOp.EQUIVALENCE and not is_last and not has_content(span):
            continue
        elif quote is not None:
            steps.append(ProofStep(span, words, operator).quoted_at(quote))
        begin = end
    return Proof(tuple(steps))


def _quoted(evidence: Sequence[Sentence], quote: Quotation | None) -> str:
    if quote is None:
        return ""
    title, sentence = evidence[quote.sentence_id]
    return (title if quote.in_title else sentence)[quote.start : quote.end]
