"""The judgement of a sufficiency judge, the decision on probabilities, and the basic judges.

A verifier gives the probabilities that evidence supports a claim, that it refutes it, and that it
is not enough. `decide` is the only place where a decision is made of them; whether the evidence is
sufficient, the verdict and its confidence follow, and what shows them decides nothing.

There is one decision because two would contradict each other: evidence is sufficient exactly if
there is a verdict other than NOT ENOUGH INFO. Such a verdict is always the most probable of the
three. A threshold above 0.5 can force NOT ENOUGH INFO where another verdict is more probable.

Every judge has the method ``judge``, which takes a batch of claims with their evidence. Without
evidence, every judge decides that it is insufficient and runs no model. The basic ones (paper,
table 6) are the two trivial ones, and lexical proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import AliasPath, Field, PlainSerializer, computed_field

from proofs.drafting import lexical_proof
from proofs.judges.claim_form import form_warning
from proofs.lexicons import SpanLexicon, default_lexicon
from proofs.logic import NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep
from proofs.verifier import Comparison

#: The evidence of a claim: pairs of title and sentence.
Evidence = Sequence[tuple[str, str]]

#: Below this probability, SUPPORTS and REFUTES are no more than a leaning.
LEAST_SURE = 0.6
# As many digits are kept of probabilities, so that a record decides as the judgement does.
_DIGITS = 6


def probabilities(labels: Iterable[float]) -> Mapping[Verdict, float]:
    """Return the probability of each verdict from those of a verifier's `LABELS`."""
    supports, _, refutes = (round(float(share), _DIGITS) for share in labels)
    return {
        Verdict.SUPPORTS: supports,
        Verdict.REFUTES: refutes,
        Verdict.NOT_ENOUGH_INFO: max(round(1 - supports - refutes, _DIGITS), 0.0),
    }


def decide(verdicts: Mapping[Verdict, float], stop_at: float) -> Verdict:
    """Return the verdict that follows from the probability of each.

    It is SUPPORTS or REFUTES, whichever is more probable, if that is at least as probable as NOT
    ENOUGH INFO and the two together are at least as probable as `stop_at`.
    """
    best = max((Verdict.SUPPORTS, Verdict.REFUTES), key=verdicts.__getitem__)
    open_share = verdicts[Verdict.NOT_ENOUGH_INFO]
    if verdicts[best] >= open_share and _decided(verdicts) >= stop_at:
        return best
    return Verdict.NOT_ENOUGH_INFO


def _decided(verdicts: Mapping[Verdict, float]) -> float:
    return round(1 - verdicts[Verdict.NOT_ENOUGH_INFO], _DIGITS)


@dataclass(frozen=True, slots=True)
class SentenceName:
    """A sentence of the evidence.

    `sentence_id`: its number in the list of evidence, or in its document after `Judgement.located`.
    """

    title: str
    sentence_id: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Sentences of the evidence that contradict each other about the claim."""

    supporting: SentenceName  # it alone supports the claim
    refuting: SentenceName  # it alone refutes the claim


Share = Annotated[float, Field(ge=0, le=1)]
# A record has the field only if there is a value.
_IF_KNOWN = Field(exclude_if=lambda value: not value and value != 0)
_UNWRITTEN = Field(exclude=True)


@dataclass(frozen=True, slots=True)
class ScoredVerdict:
    """A verdict and the probabilities that it follows from, which need a verifier."""

    label: Verdict
    confidence: Annotated[Share | None, _IF_KNOWN] = None  # the probability of the label
    probabilities: Annotated[Mapping[Verdict, Share] | None, _IF_KNOWN] = None
    # what SUPPORTS and REFUTES together need; below it, the label is NOT ENOUGH INFO
    stop_at: Annotated[float | None, _IF_KNOWN] = None
    # whether the label is SUPPORTS or REFUTES, but less probable than `LEAST_SURE`
    leaning: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    # a more probable label; None unless `stop_at` has forced NOT ENOUGH INFO
    outweighed: Annotated[Verdict | None, _IF_KNOWN] = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def words(self) -> str:
        """The verdict in words, which are the same wherever it is shown."""
        if self.confidence is None:
            return self.label.words
        if self.leaning:
            return leaning_words(self.label.words, self.confidence)
        return f"{self.label.words}, {self.confidence:.0%}"


def leaning_words(said: str, share: float) -> str:
    """Return the words for a statement that is less probable than `LEAST_SURE`."""
    shown = min(share, LEAST_SURE - 0.01)  # not rounded to what would be sure
    return f"leans towards {said}, {shown:.0%}: read the evidence"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's decision on a claim and its evidence.

    `sufficient`: whether the evidence suffices to verify the claim. `scored_verdict` and `missing`
    follow from the other fields. Without a verifier, there are no probabilities. `comparisons`:
    values that decided, where words decide exactly. `alone`: probability of the verdict by one
    sentence alone that speaks of most of the claim; it guides the search and is in no record.
    """

    sufficient: bool
    scored_verdict: Annotated[ScoredVerdict | None, Field(alias="verdict")] = field(
        init=False, default=None
    )
    missing: tuple[str, ...] | None = field(init=False, default=None)
    proof: Proof | None
    probability: Annotated[
        Annotated[float, PlainSerializer(lambda share: round(share, _DIGITS), float)] | None,
        _IF_KNOWN,
    ] = None
    verdicts: Annotated[
        Mapping[Verdict, float] | None,
        Field(validation_alias=AliasPath("verdict", "probabilities")),
        _UNWRITTEN,
    ] = None
    stop_at: Annotated[
        float | None, Field(validation_alias=AliasPath("verdict", "stop_at")), _UNWRITTEN
    ] = None
    comparisons: Annotated[tuple[Comparison, ...], _IF_KNOWN] = ()
    conflict: Annotated[Conflict | None, _IF_KNOWN] = None
    alone: Annotated[float | None, _UNWRITTEN] = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", None if self.proof is None else self.proof.missing)
        object.__setattr__(self, "scored_verdict", self._scored())

    def _scored(self) -> ScoredVerdict | None:
        if self.verdicts is not None and self.stop_at is not None:
            label = decide(self.verdicts, self.stop_at)
            best = max(self.verdicts, key=self.verdicts.__getitem__)
            is_forced = (
                label is Verdict.NOT_ENOUGH_INFO and self.verdicts[best] > self.verdicts[label]
            )
            share, is_definite = self.verdicts[label], label is not Verdict.NOT_ENOUGH_INFO
            leaning = is_definite and share < LEAST_SURE
            outweighed = best if is_forced else None
            return ScoredVerdict(label, share, self.verdicts, self.stop_at, leaning, outweighed)
        if self.proof is None:
            return None
        return ScoredVerdict(self.proof.verdict() if self.sufficient else Verdict.NOT_ENOUGH_INFO)

    @classmethod
    def decided(
        cls,
        verdicts: Mapping[Verdict, float],
        stop_at: float,
        proof: Proof | None = None,
        comparisons: tuple[Comparison, ...] = (),
        conflict: Conflict | None = None,
        alone: float | None = None,
    ) -> Judgement:
        """Return the judgement that follows from the probability of each verdict."""
        sufficient = decide(verdicts, stop_at) is not Verdict.NOT_ENOUGH_INFO
        share = _decided(verdicts)
        return cls(sufficient, proof, share, verdicts, stop_at, comparisons, conflict, alone)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the claim, which may be wrong.

        It is what `decide` makes of the probabilities, or without them what the steps of the proof
        add up to; None without either.
        """
        return None if self.scored_verdict is None else self.scored_verdict.label

    def located(self, claim: str, evidence: Evidence, numbers: Sequence[int] = ()) -> Judgement:
        """Return the judgement with the places of all spans (see `Proof.located`).

        `evidence`: the pairs of title and sentence that were judged. `numbers`: for each sentence,
        its number in its document, in place of that in `evidence`.
        """
        proof, conflict = self.proof, self.conflict
        if proof is not None:
            proof = proof.located(claim, evidence, numbers)
        if conflict is not None and numbers:
            sides = conflict.supporting, conflict.refuting
            conflict = Conflict(*(replace(s, sentence_id=numbers[s.sentence_id]) for s in sides))
        return replace(self, proof=proof, conflict=conflict)


def uncovered(claim: str) -> Judgement:
    """Return the judgement of a claim without evidence: one independent step, if it has words.

    A text that states nothing has no proof.
    """
    whole = claim.strip()
    if not whole or form_warning(whole) is not None:
        return Judgement(False, None)
    return Judgement(False, Proof((ProofStep(whole, "", NatOp.INDEPENDENCE),)))


class NeverSufficient:
    """Judges all evidence insufficient, so that retrieval runs its full number of hops."""

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return an insufficient judgement without a proof for each claim."""
        return [Judgement(False, None) for _ in zip(claims, evidence, strict=True)]


class AlwaysSufficient:
    """Judges any evidence sufficient, so that retrieval stops after the fewest hops."""

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return a judgement without a proof for each claim, sufficient if there is evidence."""
        return [Judgement(bool(texts), None) for _, texts in zip(claims, evidence, strict=True)]


class LexicalJudge:
    """Judges by the proof that chunks, alignment and a lexicon suggest, without a model."""

    def __init__(self, lexicon: SpanLexicon | None = None) -> None:
        self._lexicon = lexicon or default_lexicon()

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the lexical proof of each claim and the decision that follows from it."""
        return [self._judge(c, texts) for c, texts in zip(claims, evidence, strict=True)]

    def _judge(self, claim: str, evidence: Evidence) -> Judgement:
        if not claim.split() or not evidence:
            return uncovered(claim)
        proof = lexical_proof(claim, evidence, lexicon=self._lexicon)
        return Judgement(proof.sufficient, None if form_warning(claim) else proof)
