"""The judge `calibrated` with a verifier, which decides; the proof shows why.

The verifier reads the claim with its evidence once. Its probabilities are those of the verdicts,
and the evidence is sufficient if NOT ENOUGH INFO is improbable enough. The judge drafts a proof and
writes it for this decision, so that it has an independent step if and only if the evidence is
insufficient. If the claim is refuted and no step contradicts the evidence, the step does whose
words, by the verifier, the evidence says otherwise; if it is supported, none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from proofs.judges.calibrated import CalibratedJudge
from proofs.judges.judgement import Evidence, Judgement, uncovered
from proofs.logic.operators import REFUTING_OPERATORS, NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep
from proofs.logic.words import NEGATIONS, is_content, locate_spans, split_words, stems
from proofs.verifier.label_names import LABELS
from proofs.verifier.reading import NEUTRAL, NOTHING_KNOWN, Reading, Verifier

_CONTRADICTION = LABELS.index("contradiction")
# The column of each verdict in a reading.
_COLUMNS = {
    Verdict.SUPPORTS: LABELS.index("entailment"),
    Verdict.REFUTES: _CONTRADICTION,
    Verdict.NOT_ENOUGH_INFO: NEUTRAL,
}


class VerifiedJudge:
    """Judges by a verifier, and writes the proof for its decision.

    Parameters
    ----------
    judge
        Drafts and writes the proofs.
    verifier
        Reads claims with their evidence.
    stop_at
        Evidence is sufficient if it decides the claim, either way, at least this probably.
    """

    def __init__(self, judge: CalibratedJudge, verifier: Verifier, *, stop_at: float = 0.5) -> None:
        self._judge, self._verifier, self._stop_at = judge, verifier, stop_at

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the probabilities of each claim's verdicts, the decision and its proof."""
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
        verdicts = {verdict: float(labels[column]) for verdict, column in _COLUMNS.items()}
        probability = 1 - verdicts[Verdict.NOT_ENOUGH_INFO]
        sufficient = probability >= self._stop_at
        proof = self._written(claim, evidence, sufficient)
        telling = telling_sentences(evidence, reading)
        if sufficient and len(telling) < len(evidence):
            # Sentences that say nothing of the claim may share more words with it.
            closer = self._written(claim, telling, sufficient)
            if closer.sufficient and len(closer.steps) >= len(proof.steps):
                proof = closer
        if sufficient and not proof.sufficient:  # no span of it can be quoted for a part
            texts = (part.strip() for one in (*telling, *evidence) for part in reversed(one))
            proof = Proof((ProofStep(claim.strip(), next(filter(None, texts)), NatOp.EQUIVALENCE),))
        judgement = Judgement(sufficient, proof, probability, verdicts, reading.comparisons)
        return replace(judgement, proof=agreeing_proof(claim, proof, judgement.verdict, reading))

    def _written(self, claim: str, evidence: Evidence, sufficient: bool) -> Proof:
        draft = self._judge.draft(claim, evidence)
        assert draft is not None  # there are words and evidence
        proof = self._judge.write(claim, draft, sufficient=sufficient).proof
        assert proof is not None
        return proof


def agreeing_proof(claim: str, proof: Proof, verdict: Verdict | None, reading: Reading) -> Proof:
    """Return a proof that does not contradict a verdict, if it covers its claim.

    Parameters
    ----------
    claim, proof
        A claim and its proof.
    verdict
        The verdict on the claim as a whole.
    reading
        What the verifier says of the words of the claim. If it says nothing of them, the step whose
        spans share the smallest part of their words refutes the claim.
    """
    if not proof.sufficient or proof.verdict() is verdict:
        return proof
    if verdict is Verdict.SUPPORTS:
        return Proof(tuple(map(_agreeing, proof.steps)))
    if verdict is not Verdict.REFUTES:
        return proof
    doubts = _doubts(claim, proof, reading)
    at = doubts.index(max(doubts))
    steps = (*proof.steps[:at], _contradicting(proof.steps[at]), *proof.steps[at + 1 :])
    return Proof(steps)


def telling_sentences(evidence: Evidence, reading: Reading) -> Evidence:
    """Return the sentences that, by themselves, say something of the claim; all if none does."""
    telling = [n for n, row in enumerate(reading.sentences) if row[NEUTRAL] < 0.5]
    return [evidence[n] for n in telling] or evidence


def shares_a_word(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim and its evidence have a content word in common."""
    words = _content_stems(claim)
    return any(words & _content_stems(f"{title} {text}") for title, text in evidence)


def _doubts(claim: str, proof: Proof, reading: Reading) -> list[float]:
    """Return how probably the evidence says otherwise than each step's claim span."""
    if not len(reading.tokens):
        return [-_overlap(step) for step in proof.steps]
    places = locate_spans(claim, (step.claim for step in proof.steps))
    otherwise = reading.tokens[:, _CONTRADICTION]
    doubts = []
    for begin, end in places:
        inside = [n for n, (b, e) in enumerate(reading.offsets) if b < end and e > begin]
        doubts.append(float(np.max(otherwise[inside], initial=0.0)))
    return doubts


def _overlap(step: ProofStep) -> float:
    words = _content_stems(step.claim)
    return len(words & _content_stems(step.evidence)) / max(len(words), 1)


def _agreeing(step: ProofStep) -> ProofStep:
    refutes = step.operator in REFUTING_OPERATORS
    return replace(step, operator=NatOp.EQUIVALENCE) if refutes else step


def _contradicting(step: ProofStep) -> ProofStep:
    negated = _is_negated(step.claim) != _is_negated(step.evidence)
    return replace(step, operator=NatOp.NEGATION if negated else NatOp.ALTERNATION)


def _is_negated(text: str) -> bool:
    return any(word.norm in NEGATIONS for word in split_words(text))


def _content_stems(text: str) -> set[str]:
    return {
        stem for word in split_words(text) if is_content(word.norm) for stem in stems(word.norm)
    }
