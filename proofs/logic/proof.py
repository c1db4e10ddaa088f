"""Proofs: records of how each span of a claim relates to the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofs.logic import notation, proof_html
from proofs.logic.notation import ProofError
from proofs.logic.operators import NatOp, Verdict, is_sufficient, verdict
from proofs.logic.words import has_content, word_spans

# An evidence span has at most this many words (the method's rule), a proof this many steps (ours,
# so that decoding is bounded; other bounds can be passed).
MAX_EVIDENCE_WORDS = 7
MAX_STEPS = 16


@dataclass(frozen=True, slots=True)
class ProofStep:
    """One mutation: a claim span, the evidence span it turns into, and the operator.

    `evidence` is empty only where the operator is independence; spans have no outer white space.

    Raises
    ------
    ProofError
        If that does not hold.
    """

    claim: str
    evidence: str
    operator: NatOp

    def __post_init__(self) -> None:
        if not self.claim or self.claim != self.claim.strip():
            raise ProofError(f"claim span {self.claim!r} is empty or has outer white space")
        if self.evidence != self.evidence.strip():
            raise ProofError(f"evidence span {self.evidence!r} has outer white space")
        if not self.evidence and self.operator is not NatOp.INDEPENDENCE:
            raise ProofError(
                f"the step of {self.claim!r} has operator {self.operator.value} and no evidence"
            )

    def in_words(self) -> str:
        """Return the step as a sentence, such as ``"born in 1973" says the same as "..."``."""
        if self.operator is not NatOp.INDEPENDENCE:
            return f'"{self.claim}" {self.operator.phrase} "{self.evidence}"'
        closest = f' (closest: "{self.evidence}")' if self.evidence else ""
        return f'"{self.claim}" {self.operator.phrase}{closest}'


@dataclass(frozen=True, slots=True)
class Proof:
    """A natural-logic proof: at least one step, in the order of the claim."""

    steps: tuple[ProofStep, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise ProofError("a proof needs at least one step")

    @property
    def operators(self) -> tuple[NatOp, ...]:
        """The operators of the steps."""
        return tuple(step.operator for step in self.steps)

    @property
    def sufficient(self) -> bool:
        """Whether no step is independent of the evidence (paper, section 3.2)."""
        return is_sufficient(self.operators)

    @property
    def missing(self) -> tuple[str, ...]:
        """The claim spans that the evidence does not cover."""
        return tuple(s.claim for s in self.steps if s.operator is NatOp.INDEPENDENCE)

    def verdict(self) -> Verdict:
        """Return what the proof says of the claim: the verdict automaton's last state."""
        return verdict(self.operators)

    def in_words(self) -> list[str]:
        """Return one sentence for each step."""
        return [step.in_words() for step in self.steps]

    def to_html(self, evidence: Sequence[tuple[str, str]] = (), *, styled: bool = True) -> str:
        """Return a fragment of HTML: the steps in words, with the titles that they quote from.

        `evidence` are the (title, sentence) pairs of the proof; without them no titles are shown.
        With `styled` the fragment brings its style, otherwise the page has
        `proofs.logic.proof_html.STYLE`.
        """
        return proof_html.table(self._triples(), evidence, styled)

    def to_text(self) -> str:
        """Return ``{ claim span } [ evidence span ] OP ...``; `parse` reads it back."""
        return notation.write(self._triples())

    def _triples(self) -> Iterable[tuple[str, str, NatOp]]:
        return ((s.claim, s.evidence, s.operator) for s in self.steps)

    @classmethod
    def parse(cls, text: str) -> Proof:
        """Read a proof from its notation.

        Raises
        ------
        ProofSyntaxError
            With the line and column of the first fault.
        """
        steps = tuple(ProofStep(*triple) for triple in notation.read(text))
        if not steps:
            raise notation.ProofSyntaxError("expected '{', found the end", text, len(text))
        return cls(steps)

    def to_json(self) -> list[dict[str, str]]:
        """Return a list of objects with the fields claim, evidence and operator."""
        return [
            {"claim": s.claim, "evidence": s.evidence, "operator": s.operator.value}
            for s in self.steps
        ]

    @classmethod
    def from_json(cls, record: Iterable[Mapping[str, Any]]) -> Proof:
        """Rebuild a proof from `to_json`'s list.

        Raises
        ------
        ProofError
            Naming the step and the field that is missing or wrong.
        """
        return cls(tuple(_step_from_json(number, item) for number, item in enumerate(record, 1)))

    def validate(self, claim: str, evidence: Sequence[tuple[str, str]]) -> None:
        """Check that the proof covers `claim` and quotes `evidence`, (title, sentence) pairs.

        Raises
        ------
        ProofError
            If the claim spans do not partition the claim at word boundaries from left to right,
            or an evidence span is not quoted from one sentence or its title, is longer than seven
            words, or holds stop words alone.
        """
        _check_partition([step.claim for step in self.steps], claim)
        texts = [text for pair in evidence for text in pair]
        for step in self.steps:
            if not step.evidence:
                continue
            if not any(step.evidence in text for text in texts):
                raise ProofError(f"{step.evidence!r} is not quoted from the evidence")
            if len(word_spans(step.evidence)) > MAX_EVIDENCE_WORDS:
                raise ProofError(f"{step.evidence!r} has more than {MAX_EVIDENCE_WORDS} words")
            if not has_content(step.evidence):
                raise ProofError(f"{step.evidence!r} holds stop words alone")


def _step_from_json(number: int, item: Mapping[str, Any]) -> ProofStep:
    where = f"step {number} of the proof"
    if not isinstance(item, Mapping):
        raise ProofError(f"{where}: expected an object, found {type(item).__name__}")
    for field in ("claim", "evidence", "operator"):
        if not isinstance(item.get(field), str):
            raise ProofError(f"{where}: field {field!r} is missing or not a string")
    try:
        operator = NatOp(item["operator"])
    except ValueError:
        raise ProofError(f"{where}: unknown operator {item['operator']!r}") from None
    return ProofStep(item["claim"], item["evidence"], operator)


def _check_partition(spans: Sequence[str], claim: str) -> None:
    """Raise unless the spans, with white space between them, make up the claim."""
    boundaries = {end for _, end in word_spans(claim)}
    at = 0
    for span in spans:
        while at < len(claim) and claim[at].isspace():
            at += 1
        if not claim.startswith(span, at) or at + len(span) not in boundaries:
            raise ProofError(f"claim span {span!r} does not continue the claim at character {at}")
        at += len(span)
    if claim[at:].strip():
        raise ProofError(f"the proof ends before the claim does, at character {at}")
