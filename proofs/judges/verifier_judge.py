"""The judge with a verifier, whose probabilities decide; the proof shows why.

The verifier reads the claim with its evidence once. `Judgement.decided` makes one decision of its
three probabilities, and `write_proof` writes the proof of that decision.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofs.judges.evidence_phrases import shared_words
from proofs.judges.judgement import (
    Conflict,
    Evidence,
    Judgement,
    decide,
    form_warning,
    probabilities,
    uncovered,
)
from proofs.judges.written_proofs import write_proof
from proofs.lexicons.lexicon import SpanLexicon, default_lexicon
from proofs.logic.operators import Verdict
from proofs.verifier.exact.exact_comparison import compare
from proofs.verifier.reading import LABELS, NOTHING_KNOWN, Reading, Verifier

_ENTAILMENT, _CONTRADICTION = LABELS.index("entailment"), LABELS.index("contradiction")
# Sentences contradict each other if one alone supports, and one alone refutes, so probably.
_CONFLICT = 0.8
# Share of the claim's content words that a sentence must have to decide alone. Otherwise one that
# says a part of the claim, or denies it of something else, would.
_MOST = 0.6


class VerifierJudge:
    """Judges by a verifier, and writes the proof for its decision.

    Parameters
    ----------
    lexicon
        Relates words and spans; the built-in lexicon by default.
    stop_at
        Evidence is sufficient if it decides the claim, either way, at least this probably (see
        `proofs.judges.judgement.decide`).
    """

    def __init__(
        self,
        verifier: Verifier,
        lexicon: SpanLexicon | None = None,
        *,
        stop_at: float = 0.5,
    ) -> None:
        self._verifier, self._lexicon = verifier, lexicon or default_lexicon()
        self._stop_at = stop_at

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
        proof = write_proof(claim, evidence, reading, verdict, self._lexicon)
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
    labels = [compare(claim, [pair]) for pair in evidence]
    said = [None if one is None else one.label for one in labels]
    if "entailment" in said and "contradiction" in said:
        pair = said.index("entailment"), said.index("contradiction")
    else:
        supports, refutes = reading.sentences[:, _ENTAILMENT], reading.sentences[:, _CONTRADICTION]
        pair = int(np.argmax(supports)), int(np.argmax(refutes))
        if min(supports[pair[0]], refutes[pair[1]]) < _CONFLICT:
            return None
    supporting, refuting = ((evidence[number][0], number) for number in pair)
    return Conflict(supporting, refuting)


def shares_a_word(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim and its evidence have a content word in common."""
    return any(shared_words(claim, pair) > 0 for pair in evidence)
