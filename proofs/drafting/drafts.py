"""First drafts of proofs, from words alone.

The claim is chunked, each chunk is aligned with the evidence, and the lexicon relates the two. A
draft is a proof in itself (`lexical_proof`) and the input of annotation, which repairs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from proofs.drafting.chunking import chunk
from proofs.drafting.span_alignment import Aligner, Alignment
from proofs.lexicons.lexicon import SpanLexicon, default_lexicon
from proofs.lexicons.values import value
from proofs.logic.operators import NatOp
from proofs.logic.proof import MAX_STEPS, Proof, ProofError, ProofStep
from proofs.logic.words import locate_spans, split_words

if TYPE_CHECKING:  # it needs torch, which lexical drafts do not
    from proofs.drafting.contextual_similarity import ContextualSimilarity

# From this similarity on, spans whose relation no lexicon knows count as equivalent.
EQUIVALENT_SIMILARITY = 0.4
# Below this similarity, the aligned span of an independent step is unrelated and is not quoted.
RELATED_SIMILARITY = 0.3


class AnnotationError(ProofError):
    """No proof of the claim can agree with the given label of its evidence."""


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step of a draft, which keeps its alignment even if its operator is independence."""

    claim: str
    alignment: Alignment | None  # the evidence span, or None if nothing can be quoted
    operator: NatOp
    # Whether an independent step must not quote its aligned span, since the step was made
    # independent against what the span says.
    unquoted: bool = False

    @property
    def similarity(self) -> float:
        """The similarity of the aligned span, 0 without one."""
        return 0.0 if self.alignment is None else self.alignment.similarity

    def to_step(self) -> ProofStep:
        """Return the step of the proof; an independent one quotes a related span or nothing."""
        quoted = "" if self.alignment is None else self.alignment.span
        if self.operator is NatOp.INDEPENDENCE and (
            self.unquoted or self.similarity < RELATED_SIMILARITY
        ):
            quoted = ""
        return ProofStep(self.claim, quoted, self.operator)


def draft_steps(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    lexicon: SpanLexicon,
    similarity: ContextualSimilarity | None = None,
) -> list[DraftStep]:
    """Chunk the claim, align the chunks with the evidence and assign operators.

    Parameters
    ----------
    similarity
        Compares words in context; without it, spans are aligned by the lexicon alone.

    Raises
    ------
    AnnotationError
        If the claim has no words.
    """
    places = chunk(claim, max_chunks=MAX_STEPS)
    spans = [claim[start:end] for start, end in places]
    if not spans:
        raise AnnotationError(f"claim {claim!r} has no words")
    aligner = Aligner(evidence, lexicon, claim, similarity)
    alignments: list[Alignment | None] = []
    previous_title: str | None = None
    for span, (start, _) in zip(spans, places, strict=True):
        alignment = aligner.align(span, previous_title, start)
        alignments.append(alignment)
        if alignment is not None and alignment.similarity > 0:
            previous_title = alignment.title
    steps = []
    for at, (span, alignment) in enumerate(zip(spans, alignments, strict=True)):
        neighbours = alignments[max(at - 1, 0) : at] + alignments[at + 1 : at + 2]
        operator = _operator(span, alignment, [a for a in neighbours if a], lexicon)
        steps.append(DraftStep(span, alignment, operator))
    return steps


def _operator(
    span: str, alignment: Alignment | None, neighbours: Sequence[Alignment], lexicon: SpanLexicon
) -> NatOp:
    if alignment is None or alignment.similarity == 0.0:
        return NatOp.INDEPENDENCE
    relation = lexicon.relation(span, alignment.span)
    if relation is NatOp.ALTERNATION and all(
        value(word.norm) is not None for word in split_words(span) if word.is_content
    ):
        # Another year contradicts "in 1973" only if it is stated of the same thing.
        same_topic = any(a.title == alignment.title and a.similarity > 0.5 for a in neighbours)
        return relation if same_topic else NatOp.INDEPENDENCE
    if relation is None and alignment.similarity < EQUIVALENT_SIMILARITY:
        return NatOp.INDEPENDENCE
    return relation or default_operator(span, alignment, lexicon)


def default_operator(span: str, alignment: Alignment, lexicon: SpanLexicon) -> NatOp:
    """Return the operator of a covered span whose relation the lexicon does not know."""
    contradicted = lexicon.is_contradicted(span, alignment.span)
    return NatOp.NEGATION if contradicted else NatOp.EQUIVALENCE


def to_proof(steps: Sequence[DraftStep]) -> Proof:
    """Return the proof of drafted steps."""
    return Proof(tuple(step.to_step() for step in steps))


def merge_unquotable(claim: str, steps: Sequence[DraftStep]) -> list[DraftStep]:
    """Merge covered steps whose alignment is unrelated with a covered step that quotes something.

    They are merged with the previous step, otherwise with the next. Between independent steps they
    become independent.
    """
    merged: list[DraftStep] = []
    pending = ""  # the claim text of steps that wait for the next one
    for step, text in zip(steps, _step_texts(claim, steps), strict=True):
        covered = step.operator is not NatOp.INDEPENDENCE
        if covered and step.similarity < RELATED_SIMILARITY:
            if not pending and merged and merged[-1].operator is not NatOp.INDEPENDENCE:
                merged[-1] = replace(merged[-1], claim=merged[-1].claim + text)
            else:
                pending += text
            continue
        if pending and not covered:
            merged.append(DraftStep(pending, None, NatOp.INDEPENDENCE))
            pending = ""
        merged.append(replace(step, claim=pending + text))
        pending = ""
    if pending:
        merged.append(DraftStep(pending, None, NatOp.INDEPENDENCE))
    return [replace(step, claim=step.claim.strip()) for step in merged]


def _step_texts(claim: str, steps: Sequence[DraftStep]) -> list[str]:
    ends = [0, *(end for _, end in locate_spans(claim, (step.claim for step in steps)))]
    return [claim[begin:end] for begin, end in pairwise(ends)]


def lexical_proof(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    *,
    lexicon: SpanLexicon | None = None,
) -> Proof:
    """Return the proof that words alone suggest, without a label for the evidence.

    Parameters
    ----------
    evidence
        Pairs of title and sentence.
    lexicon
        Relates words and spans; the built-in lexicon by default.

    Raises
    ------
    AnnotationError
        If the claim has no words.
    """
    return to_proof(draft_steps(claim, evidence, lexicon or default_lexicon()))
