"""Proofs to train on, from claims whose evidence is known to suffice or not.

Follows section 3.2 of the paper: an initial proof, then the fewest changes of operators that make
it agree with what is known. The initial proof comes from chunks, alignment and lexicons here; the
paper takes ProoFVER's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from proofs.drafting.drafts import AnnotationError, Draft, draft, finish
from proofs.drafting.span_alignment import Aligner
from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.values import value
from proofs.lexicons.wordnet import default_lexicon
from proofs.logic.operators import SUFFICIENCY_OPERATORS, NatOp, Verdict, verdict
from proofs.logic.proof import MAX_STEPS, Proof
from proofs.logic.words import located, pieces

if TYPE_CHECKING:
    from proofs.drafting.contextual_similarity import ContextualLikeness  # which needs torch

# A withheld sentence that fits a span better by this much is what the evidence lacks.
_WITHHELD_GAIN = 0.15


def annotate(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    sufficient: bool,
    refuted: bool | None = None,
    *,
    withheld: Sequence[tuple[str, str]] = (),
    lexicon: SpanLexicon | None = None,
    likeness: ContextualLikeness | None = None,
    max_steps: int = MAX_STEPS,
) -> Proof:
    """Return a proof that agrees with the known sufficiency of the evidence.

    Parameters
    ----------
    claim
        The claim.
    evidence
        Pairs of title and sentence.
    sufficient
        Whether the evidence suffices to verify the claim.
    refuted
        Whether sufficient evidence refutes the claim; None if that is unknown. Where it is known,
        the proof's verdict agrees with it.
    withheld
        Gold sentences that insufficient evidence was made insufficient by leaving out. A claim span
        that they fit better than the evidence does is independent of the evidence.
    lexicon
        What is known about words; the built-in lexicon where not given.
    likeness
        How alike words are in their contexts, by a model's encoder; spans are aligned by the
        lexicon alone where not given.
    max_steps
        Most steps of the proof.

    Raises
    ------
    AnnotationError
        If the claim has no words, or the evidence is to be sufficient and has nothing to quote.
    """
    lexicon = lexicon or default_lexicon()
    steps = _without_entailment(draft(claim, evidence, lexicon, max_steps, likeness))
    if not sufficient:
        return finish(
            _insufficient(_lacking(claim, steps, Aligner(withheld, lexicon, claim, likeness)))
        )
    if any(step.aligned is None for step in steps):
        raise AnnotationError(f"nothing in the evidence can be quoted for claim {claim!r}")
    return finish(_sufficient(steps, refuted))


def _without_entailment(steps: list[Draft]) -> list[Draft]:
    """Make the steps independent that are entailed or entail: they decide nothing (section 3.2)."""
    for at, step in enumerate(steps):
        if step.operator not in SUFFICIENCY_OPERATORS:
            steps = _replaced(steps, at, NatOp.INDEPENDENCE)
    return steps


def _lacking(claim: str, steps: list[Draft], withheld: Aligner) -> list[Draft]:
    """Make the steps independent whose spans the withheld sentences fit better."""
    spans = located(claim, (step.claim for step in steps))
    for at, (step, (start, _)) in enumerate(zip(steps, spans, strict=True)):
        better = withheld.align(step.claim, start=start)
        if better is not None and better.similarity > step.similarity + _WITHHELD_GAIN:
            steps = _replaced(steps, at, NatOp.INDEPENDENCE)
    return steps


def _insufficient(steps: list[Draft]) -> list[Draft]:
    """Make the least similar step independent unless some step is."""
    if any(step.operator is NatOp.INDEPENDENCE for step in steps):
        return steps
    at = _least_similar(steps, range(len(steps)))
    return _replaced(steps, at, NatOp.INDEPENDENCE, bare=True)


def _sufficient(steps: list[Draft], refuted: bool | None) -> list[Draft]:
    """Leave no step independent, and make the verdict agree where it is known."""
    open_steps = [i for i, s in enumerate(steps) if s.operator is NatOp.INDEPENDENCE]
    for at in open_steps:
        steps = _replaced(steps, at, NatOp.EQUIVALENCE)
    if refuted is None:
        return steps
    wanted = Verdict.REFUTES if refuted else Verdict.SUPPORTS
    if verdict(step.operator for step in steps) is wanted:
        return steps
    refuting = [i for i, s in enumerate(steps) if s.operator is not NatOp.EQUIVALENCE]
    kept = None
    if refuted:
        # One refuting step: two negations would support the claim, and alternation does not chain.
        kept = _least_similar(steps, refuting or open_steps or range(len(steps)))
        if kept not in refuting:
            steps = _replaced(steps, kept, _refuting_operator(steps[kept].claim))
    for at in refuting:
        if at != kept:
            steps = _replaced(steps, at, NatOp.EQUIVALENCE)
    return steps


def _refuting_operator(span: str) -> NatOp:
    """Alternation for a span that names something, of which there are others; else negation."""
    names = any(
        word.content and (span[word.start].isupper() or value(word.norm)) for word in pieces(span)
    )
    return NatOp.ALTERNATION if names else NatOp.NEGATION


def _least_similar(steps: Sequence[Draft], among: Sequence[int]) -> int:
    return min(among, key=lambda at: steps[at].similarity)


def _replaced(steps: Sequence[Draft], at: int, operator: NatOp, bare: bool = False) -> list[Draft]:
    changed = replace(steps[at], operator=operator, bare=bare)
    return [changed if i == at else step for i, step in enumerate(steps)]
