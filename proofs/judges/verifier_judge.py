"""The judge with a verifier: what its proof ends in is the verdict.

A natural-logic reader gives distributions of operators for the spans of the claim. The automaton
makes the verdict of them, and the proof is the most probable one that ends in it (see
`proofs.judges.reader_proof`). Of any other verifier, whose probabilities are of the claim as a
whole, the proof is one step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofs.judges.claim_form import form_warning
from proofs.judges.judgement import (
    Conflict,
    Evidence,
    Judgement,
    SentenceName,
    decide,
    probabilities,
    uncovered,
)
from proofs.judges.reader_proof import reader_proof
from proofs.logic import NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep, QuotableText
from proofs.logic.words import content_stems
from proofs.verifier import LABELS, NOTHING_KNOWN, Reading, Verifier

_ENTAILMENT, _CONTRADICTION = LABELS.index("entailment"), LABELS.index("contradiction")
# Sentences contradict each other if one alone supports, and one alone refutes, so probably.
_CONFLICT = 0.8
# Share of the claim's content words that a sentence must have to decide alone. Otherwise one that
# says a part of the claim, or denies it of something else, would.
_MOST = 0.6


class VerifierJudge:
    """Judges by a verifier.

    `stop_at`: evidence is sufficient if it decides the claim, either way, at least this probably
    (see `proofs.judges.judgement.decide`).
    """

    def __init__(self, verifier: Verifier, *, stop_at: float = 0.5) -> None:
        self._verifier, self._stop_at = verifier, stop_at

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the probabilities of each claim's verdicts, the decision and its proof.

        A text that is no claim (see `form_warning`) has neither verdict nor proof.
        """
        at = [n for n, claim in enumerate(claims) if claim.split() and evidence[n]]
        readings = self._verifier.read([claims[n] for n in at], [evidence[n] for n in at])
        by_number = dict(zip(at, readings, strict=True))
        return [
            self._judgement(claim, evidence[n], by_number[n])
            if n in by_number
            else uncovered(claim)
            for n, claim in enumerate(claims)
        ]

    def _judgement(self, claim: str, evidence: Evidence, reading: Reading) -> Judgement:
        # The verifier guesses where there is nothing to compare.
        labels = reading.labels if shares_a_word(claim, evidence) else NOTHING_KNOWN
        verdicts = probabilities(labels)
        if form_warning(claim) is not None:
            judged = Judgement.decided(verdicts, self._stop_at)
            return Judgement(judged.sufficient, None, judged.probability)
        verdict = decide(verdicts, self._stop_at)
        if reading.spans:
            proof = reader_proof(claim, evidence, reading, verdict)
        else:
            proof = _whole(claim, evidence, reading, verdict)
        conflict = conflict_of(claim, evidence, reading)
        alone = decided_alone(claim, evidence, reading, verdict)
        return Judgement.decided(
            verdicts, self._stop_at, proof, reading.comparisons, conflict, alone
        )


def decided_alone(
    claim: str, evidence: Evidence, reading: Reading, verdict: Verdict
) -> float | None:
    """Return how probable a verdict is by one sentence alone that speaks of most of the claim.

    None if there is no such sentence, or nothing is decided.
    """
    if verdict is Verdict.NOT_ENOUGH_INFO:
        return None
    column = _ENTAILMENT if verdict is Verdict.SUPPORTS else _CONTRADICTION
    if reading.comparisons:
        return float(reading.labels[column])
    alone = [
        float(row[column])
        for row, pair in zip(reading.sentences, evidence, strict=True)
        if shared_words(claim, pair) >= _MOST
    ]
    return max(alone, default=None)


def conflict_of(claim: str, evidence: Evidence, reading: Reading) -> Conflict | None:
    """Return two sentences of which one alone supports a claim and the other refutes it."""
    supports, refutes = reading.sentences[:, _ENTAILMENT], reading.sentences[:, _CONTRADICTION]
    pair = int(np.argmax(supports)), int(np.argmax(refutes))
    if min(supports[pair[0]], refutes[pair[1]]) < _CONFLICT:
        return None
    return Conflict(*(SentenceName(evidence[number][0], number) for number in pair))


def shares_a_word(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim and its evidence have a content word in common."""
    return any(shared_words(claim, pair) > 0 for pair in evidence)


def shared_words(claim: str, sentence: tuple[str, str]) -> float:
    """Return the share of a claim's content words that a sentence has, with its title."""
    words = content_stems(claim)
    return len(words & content_stems(" ".join(sentence))) / max(len(words), 1)


def _whole(claim: str, evidence: Evidence, reading: Reading, verdict: Verdict) -> Proof:
    """Return the proof of one step, which is of the claim as a whole."""
    if verdict is Verdict.NOT_ENOUGH_INFO:
        return Proof((ProofStep(claim.strip(), "", NatOp.INDEPENDENCE),))
    column = _ENTAILMENT if verdict is Verdict.SUPPORTS else _CONTRADICTION
    operator = NatOp.FORWARD if verdict is Verdict.SUPPORTS else NatOp.ALTERNATION
    ranked = np.argsort(-reading.sentences[:, column], kind="stable")
    quoted = _first_quotation([evidence[number] for number in ranked])
    return Proof((ProofStep(claim.strip(), quoted, operator),))


def _first_quotation(evidence: Evidence) -> str:
    parts = [part for pair in evidence for part in reversed(pair)]
    for text in (QuotableText.from_text(part, "") for part in parts):
        for first in range(len(text.words)):
            for last in reversed(list(text.span_ends(first))):
                return text.quote(first, last)
    return next(part.strip() for part in parts if part.strip())
