"""First drafts of proofs, from what the words alone suggest.

The claim is chunked, each chunk aligned with the evidence, and the lexicon says how they relate. A
draft is a proof in itself (`lexical_proof`) and what annotation repairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proofs.drafting.chunking import chunk
from proofs.drafting.span_alignment import Aligner, Alignment
from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.values import value
from proofs.lexicons.wordnet import default_lexicon
from proofs.logic.operators import NatOp
from proofs.logic.proof import MAX_STEPS, Proof, ProofError, ProofStep
from proofs.logic.words import pieces

if TYPE_CHECKING:  # an encoder needs torch, the words alone do not
    from proofs.drafting.contextual_similarity import ContextualLikeness

# From this similarity on, a span that no lexicon objects to counts as the same.
EQUIVALENT_SIMILARITY = 0.4
# Below this, the closest span of an independent step has nothing to do with it and is left out.
RELATED_SIMILARITY = 0.3


class AnnotationError(ProofError):
    """No proof of the claim can agree with what is said about its evidence."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A step in the making: the alignment is kept even while the operator does not use it."""

    claim: str
    aligned: Alignment | None
    operator: NatOp
    bare: bool = False  # independent by repair: the aligned span would say otherwise

    @property
    def similarity(self) -> float:
        """The alignment's similarity, 0 without one."""
        return 0.0 if self.aligned is None else self.aligned.similarity

    def step(self) -> ProofStep:
        """Return the step of the proof; an independent one quotes what is related to it at most."""
        quoted = "" if self.aligned is None else self.aligned.span
        if self.operator is NatOp.INDEPENDENCE and (
            self.bare or self.similarity < RELATED_SIMILARITY
        ):
            quoted = ""
        return ProofStep(self.claim, quoted, self.operator)


def draft(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    lexicon: SpanLexicon,
    max_steps: int,
    likeness: ContextualLikeness | None = None,
) -> list[Draft]:
    """Chunk the claim, align the chunks, by context too if it is known, and assign operators.

    Raises
    ------
    AnnotationError
        If the claim has no words.
    """
    places = chunk(claim, max_chunks=max_steps)
    spans = [claim[start:end] for start, end in places]
    if not spans:
        raise AnnotationError(f"claim {claim!r} has no words")
    aligner = Aligner(evidence, lexicon, claim, likeness)
    aligned: list[Alignment | None] = []
    near: str | None = None
    for span, (start, _) in zip(spans, places, strict=True):
        found = aligner.align(span, near, start)
        aligned.append(found)
        if found is not None and found.similarity > 0:
            near = found.source
    steps = []
    for at, (span, found) in enumerate(zip(spans, aligned, strict=True)):
        around = [a for a in aligned[max(at - 1, 0) : at] + aligned[at + 1 : at + 2] if a]
        steps.append(Draft(span, found, _operator(span, found, around, lexicon)))
    return steps


def _operator(
    span: str, found: Alignment | None, around: Sequence[Alignment], lexicon: SpanLexicon
) -> NatOp:
    if found is None or found.similarity == 0.0:
        return NatOp.INDEPENDENCE
    relation = lexicon.relation(span, found.span)
    if relation is NatOp.ALTERNATION and all(
        value(word.norm) is not None for word in pieces(span) if word.content
    ):
        # "in 1973" is not contradicted by any other year, only by one said of the same thing.
        said = any(a.source == found.source and a.similarity > 0.5 for a in around)
        return relation if said else NatOp.INDEPENDENCE
    if relation is None and found.similarity < EQUIVALENT_SIMILARITY:
        return NatOp.INDEPENDENCE
    return relation or unobjected(span, found, lexicon)


def unobjected(span: str, found: Alignment, lexicon: SpanLexicon) -> NatOp:
    """Return the operator of a span that is covered though the lexicon knows no relation."""
    return NatOp.NEGATION if lexicon.turned(span, found.span) else NatOp.EQUIVALENCE


def finish(steps: Sequence[Draft]) -> Proof:
    """Return the proof of drafted steps."""
    return Proof(tuple(draft.step() for draft in steps))


def lexical_proof(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    *,
    lexicon: SpanLexicon | None = None,
    max_steps: int = MAX_STEPS,
) -> Proof:
    """Return the proof that words alone suggest, without knowledge of the sufficiency.

    Raises
    ------
    AnnotationError
        If the claim has no words.
    """
    return finish(draft(claim, evidence, lexicon or default_lexicon(), max_steps))
