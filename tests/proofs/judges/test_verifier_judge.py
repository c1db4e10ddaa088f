"""The judge `verifier`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from proofs import NatOp, Verdict
from proofs.judges.judgement import Judgement
from proofs.judges.verifier_judge import VerifierJudge, decided_alone
from proofs.verifier import Reading, Sentence
from tests.proofs.verifier.fixed_verifier import FixedVerifier

CLAIM = "Rome is a city in Italy."
FULL = [("Rome", "Rome is a city in Italy, on the Tiber."), ("Oslo", "Oslo was never on it.")]
PART = [("Oslo", "Oslo is a city, but not Rome.")]
SURE, UNSURE, WRONG = (0.8, 0.15, 0.05), (0.1, 0.7, 0.2), (0.1, 0.2, 0.7)


def judged(labels: Sequence[float], *, stop_at: float = 0.5, claim: str = CLAIM) -> Judgement:
    judge = VerifierJudge(FixedVerifier(labels), stop_at=stop_at)
    (judgement,) = judge.judge([claim], [FULL])
    return judgement


def test_the_probabilities_are_those_of_the_verifier() -> None:
    judgement = judged(SURE)
    assert judgement.probability == pytest.approx(0.85)
    assert judgement.verdicts == pytest.approx(
        {Verdict.SUPPORTS: 0.8, Verdict.REFUTES: 0.05, Verdict.NOT_ENOUGH_INFO: 0.15}
    )
    assert judgement.verdict is Verdict.SUPPORTS
    assert judged(WRONG).verdict is Verdict.REFUTES
    assert judged(UNSURE).verdict is Verdict.NOT_ENOUGH_INFO


@pytest.mark.parametrize(
    ("labels", "operator", "quoted"),
    [
        (SURE, NatOp.FORWARD, "Rome is a city in Italy, on"),
        (WRONG, NatOp.ALTERNATION, "Rome is a city in Italy, on"),
        (UNSURE, NatOp.INDEPENDENCE, ""),
    ],
)
def test_a_verifier_without_spans_has_proofs_of_one_step(labels, operator, quoted) -> None:
    (step,) = judged(labels).proof.steps
    assert (step.claim, step.operator, step.evidence) == (CLAIM, operator, quoted)


@pytest.mark.parametrize(
    ("verdict", "rows", "alone"),
    [
        (Verdict.SUPPORTS, [SURE, WRONG], SURE[0]),
        (Verdict.SUPPORTS, [WRONG, SURE], WRONG[0]),  # the second has none of the claim's words
        (Verdict.REFUTES, [SURE, WRONG], SURE[2]),
        (Verdict.NOT_ENOUGH_INFO, [SURE, WRONG], None),
    ],
)
def test_a_sentence_decides_alone_if_it_speaks_of_most_of_the_claim(
    verdict: Verdict, rows: list[tuple[float, ...]], alone: float | None
) -> None:
    reading = Reading(np.array(SURE), np.array(rows))
    assert decided_alone(CLAIM, FULL, reading, verdict) == alone


def test_without_words_or_evidence_nothing_is_read() -> None:
    def fails(claim: str, texts: Sequence[Sentence]) -> Sequence[float]:
        assert claim == CLAIM
        assert texts
        return SURE

    judge = VerifierJudge(FixedVerifier(fails))
    given = [(CLAIM, FULL), ("  ", FULL), (CLAIM, []), (CLAIM, PART)]
    together = judge.judge([c for c, _ in given], [texts for _, texts in given])
    for (claim, texts), judgement in zip(given, together, strict=True):
        assert judge.judge([claim], [texts]) == [judgement]
    for lacking in together[1:3]:
        assert not lacking.sufficient
        assert lacking.probability is None
        assert lacking.verdicts is None
    assert judge.judge([], []) == []
