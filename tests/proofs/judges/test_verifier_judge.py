"""The judge `verifier`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from proofs import NatOp, Verdict
from proofs.judges.judgement import Judgement
from proofs.judges.verifier_judge import VerifierJudge, decided_alone
from proofs.logic.words import Quotation
from proofs.verifier import Comparison, Reading, Sentence
from proofs.verifier.exact_comparison import compare
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
    ("claim", "texts", "denied", "opposing", "operator"),
    [
        (
            "Ada was born in Lysund.",
            [("Ada", "Ada was born in Torvik and grew up in Lysund.")],
            "in Lysund.",
            "in Torvik",
            NatOp.ALTERNATION,
        ),
        (
            "The mine was closed in 1931.",
            [("Mine", "The mine was opened in 1874, and was closed on 9 May 1940.")],
            "in 1931.",
            "on 9 May 1940",
            NatOp.ALTERNATION,
        ),
        (
            "Ada never won the prize.",
            [("Ada", "Ada won the prize in 2004.")],
            "never won the prize.",
            "won the prize",
            NatOp.NEGATION,
        ),
        (
            "Merrow is a 1931 trade treaty.",
            [("Merrow", "Merrow is a 1931 Swedish silent historical adventure mystery film.")],
            "is a 1931 trade treaty.",
            "1931 Swedish silent historical adventure mystery film",
            NatOp.ALTERNATION,
        ),
        (
            "Merrow was directed by Moe.",
            [("Merrow", "Merrow (not the one directed by Roe) was directed by Ada Quill.")],
            "by Moe.",
            "by Ada Quill",
            NatOp.ALTERNATION,
        ),
    ],
)
def test_a_denied_span_is_set_against_the_words_that_deny_it(
    claim: str, texts: list[Sentence], denied: str, opposing: str, operator: NatOp
) -> None:
    """Not against the same words, which may stand elsewhere in the evidence."""
    words = [(0.9, 0.1, 0.0)] * (len(claim.split()) - 1) + [(0.1, 0.1, 0.8)]
    judge = VerifierJudge(FixedVerifier(WRONG, words))
    (judgement,) = judge.judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    (step,) = [s for s in judgement.proof.steps if s.operator is operator]
    assert (step.claim, step.evidence) == (denied, opposing)


def supporting_steps(claim: str, texts: list[Sentence], *comparisons: Comparison) -> list[str]:
    reading = Reading(np.array(SURE), np.array([SURE] * len(texts)), comparisons=comparisons)
    (judgement,) = VerifierJudge(Reader(reading)).judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    return [f"{step.claim} {step.operator.value} {step.evidence}" for step in judgement.proof.steps]


def test_the_names_of_two_documents_are_proved_apart() -> None:
    texts = [("Ada Quill", "Ada Quill is a painter."), ("Ben Roe", "Ben Roe is a painter.")]
    steps = supporting_steps("Ada Quill and Ben Roe are painters.", texts)
    assert steps[:2] == ["Ada Quill = Ada Quill", "and Ben Roe = Ben Roe"]


def test_a_quotation_takes_in_no_other_value() -> None:
    texts = [
        ("Merrow", "Merrow is a 2000 Swedish film directed by Ada Quill."),
        ("Ada Quill", "Ada Quill made the 1992 film Fenwick."),
    ]
    steps = supporting_steps("Moe starred in the 1992 film directed by the maker of Merrow.", texts)
    assert not any("1992" in step and "2000" in step for step in steps)


def test_the_dates_that_were_compared_are_quoted() -> None:
    texts = [
        ("Ada Quill", "Ada Quill (born 3 May 1950) is a painter."),
        ("Ben Roe", "Ben Roe (born 7 June 1960) is a painter."),
    ]
    compared = compare("Ada Quill is older than Ben Roe.", texts)
    assert compared is not None
    steps = supporting_steps("Ada Quill is older than Ben Roe.", texts, compared)
    assert steps[-1] == "is older than Ben Roe. < born 7 June 1960"


def test_spans_that_the_verifier_leaves_open_are_missing() -> None:
    claim, texts = "Ada was born in Torvik in 1815.", [("Ada", "Ada was born in Torvik.")]
    words = [(0.9, 0.1, 0.0)] * 5 + [(0.1, 0.6, 0.3)] * 2
    (judgement,) = VerifierJudge(FixedVerifier(UNSURE, words)).judge([claim], [texts])
    assert judgement.missing == ("in 1815.",)


def test_compared_values_are_quoted() -> None:
    quotation = Quotation("Town", 1, 7, 10)
    compared = Comparison(
        "contradiction", "five", "six", 1, "Five is not six.", (13, 17), quotation
    )
    claim = "The town has five schools and three parks."
    texts = [("Town", "The town has three parks."), ("Town", "It has six schools.")]
    reading = Reading(np.array(WRONG), np.array([SURE, WRONG]), comparisons=(compared,))

    class Comparing:
        def read(
            self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]
        ) -> list[Reading]:
            return [reading for _ in claims]

    (judgement,) = VerifierJudge(Comparing()).judge([claim], [texts])
    assert judgement.proof is not None
    (step,) = [s for s in judgement.proof.steps if s.operator is NatOp.ALTERNATION]
    assert "five" in step.claim
    assert step.evidence == "six"
    assert judgement.alone == WRONG[2]
    assert judgement.comparisons == (compared,)


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


class Reader:
    """Reads every claim alike."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, claims, evidences):
        return [self._reading for _ in claims]


def test_what_is_said_of_another_subject_contradicts_nothing():
    claim = "Ada Quill wrote Fenwick in 1931."
    texts = [
        ("Joan Moe", "Joan Moe wrote Fenwick Hall in 1940."),
        ("Ada Quill", "Her first novel was printed in 1912."),
    ]
    reading = Reading(np.array(WRONG), np.array([(0.0, 0.1, 0.9), WRONG]))
    (judgement,) = VerifierJudge(Reader(reading)).judge([claim], [texts])
    (step,) = [s for s in judgement.proof.steps if s.operator is NatOp.ALTERNATION]
    assert step.claim.endswith("in 1931.")
    assert step.evidence == "in 1912"


def test_a_span_follows_only_from_words_on_the_same():
    claim = "Ada Quill was born in Oslo among sailors."
    texts = [("Ada Quill", "Ada Quill was born in Oslo and raised cattle there.")]
    (judgement,) = VerifierJudge(FixedVerifier(SURE)).judge([claim], [texts])
    last = judgement.proof.steps[-1]
    assert last.claim.endswith("in Oslo among sailors.")
    assert last.evidence.startswith("in Oslo")


def test_steps_stay_within_a_sentence_of_the_claim() -> None:
    texts = [("Ada Quill", "Ada Quill painted Merrow."), ("Merrow", "Merrow hangs in Oslo.")]
    steps = supporting_steps("Ada Quill made something grand. Merrow hangs in Oslo.", texts)
    assert not any(". " in step.split(" = ")[0].split(" < ")[0] for step in steps)


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
