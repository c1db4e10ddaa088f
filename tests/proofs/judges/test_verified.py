"""The judge `calibrated` with a verifier: probabilities, decisions and the proofs of both."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs import CalibratedJudge, NatOp, Verdict
from proofs.judges.calibrated import Weights
from proofs.judges.verified import VerifiedJudge
from proofs.judges.verified_fits import (
    SUFFICIENCY_FEATURES,
    VERDICT_FEATURES,
    LinearScore,
    SufficiencyFit,
    VerdictFit,
)
from proofs.verifier.pair_input import evidence_text
from proofs.verifier.pair_verifier import Verifier
from tests.proofs.hostile_texts import claims, evidence
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

CLAIM = "Rome is a city in Italy."
FULL = [("Rome", "Rome is a city in Italy, on the Tiber."), ("Oslo", "Oslo was never on it.")]
PART = [("Oslo", "Oslo is a city, but not Rome.")]
BUNDLED = Weights.bundled()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier_directory(tmp_path_factory.mktemp("hub") / "model")


@pytest.fixture(scope="module")
def verifier(folder: Path) -> Verifier:
    return Verifier.open(folder, dtype=torch.float32)


def judge(verifier: Verifier, weights: Weights = BUNDLED, stop_at: float = 0.0) -> VerifiedJudge:
    return VerifiedJudge(CalibratedJudge(weights), verifier, weights, stop_at=stop_at)


def with_sufficiency(threshold: float, bias: float = 0.0, **weights: float) -> Weights:
    linear = LinearScore(bias, dict.fromkeys(SUFFICIENCY_FEATURES, 0.0) | weights)
    return replace(BUNDLED, sufficiency=SufficiencyFit(linear, threshold))


def test_without_fits_the_probabilities_are_those_of_the_verifier(verifier: Verifier) -> None:
    """And the decision is that of the judge."""
    (judgement,) = judge(verifier).judge([CLAIM], [FULL])
    entailed, neutral, contradicted = verifier.predict([CLAIM], [evidence_text(FULL)]).labels[0]
    assert judgement.probability == pytest.approx(1 - float(neutral))
    assert judgement.verdicts == pytest.approx(
        {
            Verdict.SUPPORTS: float(entailed),
            Verdict.REFUTES: float(contradicted),
            Verdict.NOT_ENOUGH_INFO: float(neutral),
        }
    )
    assert judgement.verdict is max(judgement.verdicts, key=judgement.verdicts.__getitem__)
    (alone,) = CalibratedJudge().judge([CLAIM], [FULL])
    assert (judgement.sufficient, judgement.proof) == (alone.sufficient, alone.proof)


def test_refuting_evidence_is_as_sufficient_as_supporting_evidence(
    folder: Path, verifier: Verifier, tmp_path: Path
) -> None:
    """A verifier with exchanged labels gives the same probability of sufficiency."""
    copied = tmp_path / "exchanged"
    shutil.copytree(folder, copied)
    config = json.loads((copied / "config.json").read_text())
    config["id2label"] = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    (copied / "config.json").write_text(json.dumps(config))
    exchanged = Verifier.open(copied, dtype=torch.float32)
    fitted = with_sufficiency(0.5, score=-0.3, decided=0.8)
    (one,) = judge(verifier, fitted).judge([CLAIM], [FULL])
    (other,) = judge(exchanged, fitted).judge([CLAIM], [FULL])
    assert one.probability == pytest.approx(other.probability)
    assert one.verdicts is not None
    assert other.verdicts is not None
    assert one.verdicts[Verdict.SUPPORTS] == pytest.approx(other.verdicts[Verdict.REFUTES])


def test_evidence_is_sufficient_from_the_probability_on(verifier: Verifier) -> None:
    (judgement,) = judge(verifier).judge([CLAIM], [FULL])
    assert judgement.probability is not None
    for stop_at, expected in (
        (judgement.probability, True),
        (math.nextafter(judgement.probability, 2), False),
        (1.0, False),
    ):
        (decided,) = judge(verifier, stop_at=stop_at).judge([CLAIM], [FULL])
        assert decided.sufficient is expected
        assert decided.proof is not None
        assert (NatOp.INDEPENDENCE not in decided.proof.operators) is expected


def test_the_fitted_threshold_holds_unless_another_is_given(verifier: Verifier) -> None:
    fitted = with_sufficiency(0.7, bias=math.log(3))  # a probability of 0.75, whatever is read
    for texts in (FULL, PART):
        (judgement,) = judge(verifier, fitted).judge([CLAIM], [texts])
        assert judgement.probability == pytest.approx(0.75)
    (sufficient,) = judge(verifier, fitted).judge([CLAIM], [FULL])
    assert sufficient.sufficient
    (strict,) = judge(verifier, fitted, stop_at=0.8).judge([CLAIM], [FULL])
    assert not strict.sufficient


def test_verdicts_are_combined_from_proof_and_verifier(verifier: Verifier) -> None:
    """With weights for the proof alone, it decides."""
    zero = dict.fromkeys(VERDICT_FEATURES, 0.0)
    scores = {
        Verdict.SUPPORTS: LinearScore(0.0, zero | {"supports": 5.0}),
        Verdict.REFUTES: LinearScore(0.0, zero | {"refutes": 5.0}),
        Verdict.NOT_ENOUGH_INFO: LinearScore(1.0, zero),
    }
    fitted = replace(BUNDLED, verdicts=VerdictFit(scores))
    wrong = [("Rome", "Rome is not a city in Italy.")]
    found = judge(verifier, fitted).judge([CLAIM] * 3, [FULL, wrong, PART])
    alone = CalibratedJudge().judge([CLAIM] * 3, [FULL, wrong, PART])
    assert [each.verdict for each in found] == [each.verdict for each in alone]
    assert [each.verdict for each in found] == [
        Verdict.SUPPORTS,
        Verdict.REFUTES,
        Verdict.NOT_ENOUGH_INFO,
    ]
    assert found[0].verdicts is not None
    assert found[0].verdicts[Verdict.SUPPORTS] == pytest.approx(
        math.exp(5) / (math.exp(5) + 1 + math.e)
    )


def test_a_claim_is_judged_alike_in_any_batch(verifier: Verifier) -> None:
    given = [(CLAIM, FULL), ("  ", FULL), (CLAIM, []), (CLAIM, PART)]
    together = judge(verifier).judge([c for c, _ in given], [texts for _, texts in given])
    for (claim, texts), judgement in zip(given, together, strict=True):
        (single,) = judge(verifier).judge([claim], [texts])
        assert (single.sufficient, single.proof) == (judgement.sufficient, judgement.proof)
        assert single.probability == pytest.approx(judgement.probability)
    for lacking in together[1:3]:
        assert not lacking.sufficient
        assert lacking.probability is None
        assert lacking.verdicts is None
    assert judge(verifier).judge([], []) == []


def test_documents_are_also_read_alone(verifier: Verifier) -> None:
    rome, oslo, again = ("Rome", "Rome is old."), ("Oslo", "Oslo is new."), ("Rome", "It is big.")
    single, both = judge(verifier).read([CLAIM] * 2, [[rome, again], [rome, oslo, again]])
    assert single is not None
    assert both is not None
    assert single.alone == [single.labels]
    texts = [evidence_text([rome, again]), evidence_text([oslo])]
    expected = verifier.predict([CLAIM] * 2, texts).labels.tolist()
    for read, row in zip(both.alone, expected, strict=True):
        assert list(read.values()) == pytest.approx(row)
    entailed, neutral, contradicted = zip(*expected, strict=True)
    features = both.verdict_features(None)
    assert features["entailed_alone"] == pytest.approx(logit(max(entailed)))
    assert features["contradicted_alone"] == pytest.approx(logit(max(contradicted)))
    assert features["decided_alone"] == pytest.approx(logit(1 - min(neutral)))
    assert both.sufficiency_features()["decided_alone"] == features["decided_alone"]


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


@given(claims, evidence, st.sampled_from([1e-9, 0.3, 0.6, 1.0]), st.floats(-2, 2))
@settings(max_examples=30)
def test_proof_agrees_with_the_decision(
    verifier: Verifier, claim: str, texts: list[tuple[str, str]], stop_at: float, weight: float
) -> None:
    fitted = with_sufficiency(0.5, score=weight, decided=1.0)
    (judgement,) = judge(verifier, fitted, stop_at).judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    assert judgement.sufficient == judgement.proof.sufficient
    if texts:
        assert judgement.probability is not None
        assert judgement.verdicts is not None
        assert 0 <= judgement.probability <= 1
        assert sum(judgement.verdicts.values()) == pytest.approx(1, abs=1e-5)
        assert not judgement.sufficient or judgement.probability >= stop_at


def test_evidence_without_a_word_of_the_claim_says_nothing(verifier: Verifier) -> None:
    """Whatever the verifier takes it for."""
    one = judge(verifier, with_sufficiency(0.5, bias=9.0))
    for claim, texts in (("Dogs bark.", [("Rain", "It rained.")]), ("Nothing", FULL)):
        (judgement,) = one.judge([claim], [texts])
        assert judgement.verdict is Verdict.NOT_ENOUGH_INFO
        assert (judgement.sufficient, judgement.probability) == (False, 0.0)
    (related,) = one.judge(["Cities bark."], [FULL])  # by its stem
    assert related.probability == pytest.approx(1, abs=0.01)
