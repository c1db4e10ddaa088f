"""First drafts of proofs, from words alone, and their repair where the label is known.

The claim is chunked, each chunk is aligned with the evidence, and the lexicon relates the two. A
draft is a proof in itself (`lexical_proof`) and the input of `annotate`, which makes training
proofs as in section 3.2 of the paper: it changes the fewest operators that make the proof agree
with the label. The paper starts from the proofs of ProoFVER instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proofs.drafting.spans import Aligner, Alignment, chunk
from proofs.lexicons import SpanLexicon, default_lexicon
from proofs.lexicons.values import value
from proofs.logic import SUFFICIENCY_OPERATORS, NatOp, Verdict, verdict
from proofs.logic.proof import MAX_STEPS, Proof, ProofError, ProofStep
from proofs.logic.words import locate_spans, split_words

if TYPE_CHECKING:
    from proofs.drafting.contextual_similarity import ContextualSimilarity

# From this similarity on, spans whose relation no lexicon knows count as equivalent.
EQUIVALENT_SIMILARITY = 0.4
# Below this similarity, the aligned span of an independent step is unrelated and is not quoted.
_RELATED_SIMILARITY = 0.3


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
            self.unquoted or self.similarity < _RELATED_SIMILARITY
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

    `similarity`: compares words in context; without it, spans are aligned by the lexicon alone.

    Raises `AnnotationError` if the claim has no words.
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
    if relation is None and lexicon.is_contradicted(span, alignment.span):
        return NatOp.NEGATION
    return relation or NatOp.EQUIVALENCE


def to_proof(steps: Sequence[DraftStep]) -> Proof:
    """Return the proof of drafted steps."""
    return Proof(tuple(step.to_step() for step in steps))


def lexical_proof(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    *,
    lexicon: SpanLexicon | None = None,
) -> Proof:
    """Return the proof that words alone suggest, without a label for the evidence.

    `evidence`: pairs of title and sentence. `lexicon`: relates words and spans; the built-in
    lexicon by default.

    Raises AnnotationError if the claim has no words.
    """
    return to_proof(draft_steps(claim, evidence, lexicon or default_lexicon()))


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

    - `evidence`: pairs of title and sentence.
    - `sufficient`: whether the evidence suffices to verify the claim.
    - `refuted`: whether sufficient evidence refutes the claim, or None if unknown. If it is known,
      the proof's verdict agrees with it.
    - `withheld`: gold sentences that were left out to make the evidence insufficient. A claim span
      that is more similar to them than to the evidence is independent of the evidence.
    - `lexicon`: relates words and spans; the built-in lexicon by default.
    - `similarity`: compares words in context by a model's encoder; without it, spans are aligned by
      the lexicon alone.

    Raises AnnotationError if the claim has no words, or if sufficient evidence has nothing to
    quote.
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
