"""Proofs agree with verdicts on the claim as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import given
from hypothesis import strategies as st

from proofs import NatOp, Proof, ProofStep, Verdict
from proofs.judges.refuting_step import (
    RefutedClaim,
    mutated_claims,
    needs_refuting_step,
    refutes_supported_claim,
    with_refuting_steps,
    without_refuting_steps,
)
from proofs.verifier.pair_verifier import Predictions

CLAIM = "Seth Meyers is an Iraqi comedian."
EVIDENCE = "Seth Meyers: Seth Meyers is an American comedian and writer."


def proof(*steps: tuple[str, str], operator: NatOp = NatOp.EQUIVALENCE) -> Proof:
    return Proof(tuple(ProofStep(claim, quoted, operator) for claim, quoted in steps))


class WordVerifier:
    """Contradicts every claim that has a word, with a probability of 0.9, and no other."""

    def __init__(self, word: str) -> None:
        self.word, self.claims = word, list[str]()

    def predict(self, claims: Sequence[str], evidences: Sequence[str]) -> Predictions:
        assert len(claims) == len(evidences) > 0
        self.claims += claims
        rows = [[0.05, 0.05, 0.9] if self.word in claim else [0.9, 0.05, 0.05] for claim in claims]
        return Predictions(torch.tensor(rows), None)


PROOF = proof(
    ("Seth Meyers", "Seth Meyers"), ("is an Iraqi", "is an American"), ("comedian.", "writer.")
)


def operators(*proofs: Proof) -> list[str]:
    return ["".join(operator.value for operator in each.operators) for each in proofs]


def test_the_step_that_takes_the_contradiction_away_becomes_an_alternation() -> None:
    verifier = WordVerifier("Iraqi")
    (found,) = with_refuting_steps(verifier, [RefutedClaim(CLAIM, EVIDENCE, 0.9, PROOF)])  # type: ignore[arg-type]
    assert operators(found) == ["=|="]
    assert found.verdict() is Verdict.REFUTES
    # The step whose quotation is the claim's own words is not tried.
    assert verifier.claims == [
        "Seth Meyers is an American comedian.",
        "Seth Meyers is an Iraqi writer.",
    ]


def test_a_negated_span_becomes_a_negation() -> None:
    negated = proof(("Seth Meyers", "Seth Meyers"), ("is an Iraqi", "was never an"))
    given_claim = RefutedClaim("Seth Meyers is an Iraqi", EVIDENCE, 0.9, negated)
    (found,) = with_refuting_steps(WordVerifier("Iraqi"), [given_claim])  # type: ignore[arg-type]
    assert operators(found) == ["=!"]


def test_a_proof_stays_if_no_step_takes_the_contradiction_away() -> None:
    refuted = RefutedClaim(CLAIM, EVIDENCE, 0.9, PROOF)
    assert with_refuting_steps(WordVerifier("Seth"), [refuted]) == [PROOF]  # type: ignore[arg-type]
    small = RefutedClaim(CLAIM, EVIDENCE, 0.3, PROOF)  # takes 0.2 of it away
    assert operators(*with_refuting_steps(WordVerifier("Iraqi"), [small])) == ["=|="]  # type: ignore[arg-type]


def test_proofs_do_not_influence_each_other() -> None:
    same = proof((CLAIM, CLAIM))  # nothing to try
    refuted = [RefutedClaim(CLAIM, EVIDENCE, 0.9, each) for each in (same, PROOF, same)]
    assert operators(*with_refuting_steps(WordVerifier("Iraqi"), refuted)) == ["=", "=|=", "="]  # type: ignore[arg-type]
    assert with_refuting_steps(WordVerifier("Iraqi"), [refuted[0]]) == [same]  # type: ignore[arg-type]
    assert with_refuting_steps(WordVerifier("Iraqi"), []) == []  # type: ignore[arg-type]


def test_only_complete_proofs_without_a_refuting_step_need_one() -> None:
    assert needs_refuting_step(PROOF, Verdict.REFUTES)
    assert not needs_refuting_step(PROOF, Verdict.SUPPORTS)
    assert not needs_refuting_step(PROOF, Verdict.NOT_ENOUGH_INFO)
    assert not needs_refuting_step(PROOF, None)
    for operator in (NatOp.ALTERNATION, NatOp.INDEPENDENCE):
        assert not needs_refuting_step(proof(("a", "b"), operator=operator), Verdict.REFUTES)


def test_a_supported_claim_has_no_contradicting_steps() -> None:
    steps = tuple(
        ProofStep("a", "b", operator)
        for operator in (NatOp.EQUIVALENCE, NatOp.NEGATION, NatOp.FORWARD, NatOp.ALTERNATION)
    )
    assert operators(without_refuting_steps(Proof(steps))) == ["==<="]
    refuting = proof(("a", "b"), operator=NatOp.ALTERNATION)
    assert refutes_supported_claim(refuting, Verdict.SUPPORTS)
    assert not refutes_supported_claim(refuting, Verdict.REFUTES)
    assert not refutes_supported_claim(refuting, None)
    for operator in (NatOp.EQUIVALENCE, NatOp.INDEPENDENCE):
        assert not refutes_supported_claim(proof(("a", "b"), operator=operator), Verdict.SUPPORTS)


@given(st.lists(st.tuples(st.text("ab", min_size=1), st.text("cd", min_size=1)), min_size=1))
def test_a_mutation_changes_one_span(steps: list[tuple[str, str]]) -> None:
    claim = " ".join(span for span, _ in steps)
    mutated = mutated_claims(claim, proof(*steps))
    for at, text in enumerate(mutated):
        spans = [quoted if n == at else span for n, (span, quoted) in enumerate(steps)]
        assert text == " ".join(spans)
