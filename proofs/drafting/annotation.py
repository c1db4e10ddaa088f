"""Training proofs for claims whose evidence is labelled as sufficient or insufficient.

Follows section 3.2 of the paper: start from an initial proof and change the fewest operators that
make it agree with the label. The initial proof comes from chunks, alignment and lexicons; the paper
uses the proofs of ProoFVER.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from proofs.drafting.drafts import AnnotationError, DraftStep, draft_steps, to_proof
from proofs.drafting.span_alignment import Aligner
from proofs.lexicons.lexicon import SpanLexicon, default_lexicon
from proofs.lexicons.values import value
from proofs.logic.operators import SUFFICIENCY_OPERATORS, NatOp, Verdict, verdict
from proofs.logic.proof import Proof
from proofs.logic.words import locate_spans, split_words

if TYPE_CHECKING:  # it needs torch, which lexical annotation does not
    from proofs.drafting.contextual_similarity import ContextualSimilarity

# A step is independent if a withheld sentence is more similar to its span by this much.
_WITHHELD_MARGIN = 0.15


def annotate(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    sufficient: bool,
    refuted: bool | None = None,
    *,
    withheld: Sequence[tuple[str, str]] = (),
    lexicon: SpanLexicon | None = None,
    similarity: ContextualSimilarity | None = None,
) -> Proof:
    """Return a proof that agrees with the label of the evidence.

    Parameters
    ----------
    evidence
        Pairs of title and sentence.
    sufficient
        Whether the evidence suffices to verify the claim.
    refuted
        Whether sufficient evidence refutes the claim, or None if unknown. If it is known, the
        proof's verdict agrees with it.
    withheld
        Gold sentences that were left out to make the evidence insufficient. A claim span that is
        more similar to them than to the evidence is independent of the evidence.
    lexicon
        Relates words and spans; the built-in lexicon by default.
    similarity
        Compares words in context by a model's encoder; without it, spans are aligned by the lexicon
        alone.

    Raises
    ------
    AnnotationError
        If the claim has no words, or if sufficient evidence has nothing to quote.
    """
    lexicon = lexicon or default_lexicon()
    steps = _without_entailment(draft_steps(claim, evidence, lexicon, similarity))
    if not sufficient:
        aligner = Aligner(withheld, lexicon, claim, similarity)
        return to_proof(_insufficient(_without_withheld(claim, steps, aligner)))
    if any(step.alignment is None for step in steps):
        raise AnnotationError(f"nothing in the evidence can be quoted for claim {claim!r}")
    return to_proof(_sufficient(steps, refuted))


def _without_entailment(steps: list[DraftStep]) -> list[DraftStep]:
    """Make steps of forward and reverse entailment independent: they decide nothing (3.2)."""
    for at, step in enumerate(steps):
        if step.operator not in SUFFICIENCY_OPERATORS:
            steps = _with_operator(steps, at, NatOp.INDEPENDENCE)
    return steps


def _without_withheld(claim: str, steps: list[DraftStep], withheld: Aligner) -> list[DraftStep]:
    spans = locate_spans(claim, (step.claim for step in steps))
    for at, (step, (start, _)) in enumerate(zip(steps, spans, strict=True)):
        alignment = withheld.align(step.claim, start=start)
        if alignment is not None and alignment.similarity > step.similarity + _WITHHELD_MARGIN:
            steps = _with_operator(steps, at, NatOp.INDEPENDENCE)
    return steps


def _insufficient(steps: list[DraftStep]) -> list[DraftStep]:
    """Make the least similar step independent if no step is."""
    if any(step.operator is NatOp.INDEPENDENCE for step in steps):
        return steps
    at = _least_similar(steps, range(len(steps)))
    return _with_operator(steps, at, NatOp.INDEPENDENCE, unquoted=True)


def _sufficient(steps: list[DraftStep], refuted: bool | None) -> list[DraftStep]:
    independent = [i for i, s in enumerate(steps) if s.operator is NatOp.INDEPENDENCE]
    for at in independent:
        steps = _with_operator(steps, at, NatOp.EQUIVALENCE)
    if refuted is None:
        return steps
    expected = Verdict.REFUTES if refuted else Verdict.SUPPORTS
    if verdict(step.operator for step in steps) is expected:
        return steps
    refuting = [i for i, s in enumerate(steps) if s.operator is not NatOp.EQUIVALENCE]
    kept = None
    if refuted:
        # Exactly one refuting step: two negations would support the claim, and two alternations
        # decide nothing.
        kept = _least_similar(steps, refuting or independent or range(len(steps)))
        if kept not in refuting:
            steps = _with_operator(steps, kept, _refuting_operator(steps[kept].claim))
    for at in refuting:
        if at != kept:
            steps = _with_operator(steps, at, NatOp.EQUIVALENCE)
    return steps


def _refuting_operator(span: str) -> NatOp:
    """Return alternation for a span with a name or value, which has alternatives, else negation."""
    has_alternatives = any(
        word.is_content and (span[word.start].isupper() or value(word.norm))
        for word in split_words(span)
    )
    return NatOp.ALTERNATION if has_alternatives else NatOp.NEGATION


def _least_similar(steps: Sequence[DraftStep], among: Sequence[int]) -> int:
    return min(among, key=lambda at: steps[at].similarity)


def _with_operator(
    steps: Sequence[DraftStep], at: int, operator: NatOp, unquoted: bool = False
) -> list[DraftStep]:
    changed = replace(steps[at], operator=operator, unquoted=unquoted)
    return [changed if i == at else step for i, step in enumerate(steps)]
