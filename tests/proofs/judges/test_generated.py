"""The decision by the steps of a generated proof, and its file."""

import json

import pytest

from proofs import NatOp, Proof, ProofStep
from proofs.generation.generator import CoveringProof
from proofs.judges.fitted_weights import LinearScore
from proofs.judges.generated import STEP_DECISION_FEATURES, StepDecision, step_decision_features

STEPS = (
    ProofStep("The lighthouse", "The lighthouse", NatOp.EQUIVALENCE),
    ProofStep("was built", "was built", NatOp.INDEPENDENCE),
    ProofStep("in 1901", "in 1873", NatOp.ALTERNATION),
)
COVERING = CoveringProof(Proof(STEPS), (0.1, 0.6, 0.9), (0.2, 0.3, 0.4), (-0.1, -0.2, -0.6))


def decision(threshold):
    """Return one that reads only the step that is most probably independent."""
    weights = dict.fromkeys(STEP_DECISION_FEATURES, 0.0) | {"independent": -1.0}
    return StepDecision(LinearScore(0.0, weights), threshold)


def test_features_are_extremes_and_means_of_steps():
    features = step_decision_features(COVERING)
    assert tuple(features) == STEP_DECISION_FEATURES
    assert features["independent"] == pytest.approx(2.1972, abs=1e-4)  # log(0.9 / 0.1)
    assert features["unquoted"] == pytest.approx(-0.4055, abs=1e-4)  # log(0.4 / 0.6)
    assert (features["quoted"], features["mean_quoted"]) == (-0.6, pytest.approx(-0.3))
    assert features["steps"] == 3


def test_insufficient_evidence_leaves_the_least_covered_steps_independent():
    judgement = decision(0.2).judgement(COVERING)
    assert judgement.probability == pytest.approx(0.1)
    assert not judgement.sufficient
    assert judgement.proof is not None
    assert [step.operator.value for step in judgement.proof.steps] == ["=", "#", "#"]
    assert judgement.missing == ("was built", "in 1901")
    unlikely = COVERING._replace(independent=(0.1, 0.2, 0.3))
    judgement = decision(0.9).judgement(unlikely)
    assert judgement.missing == ("in 1901",)


def test_sufficient_evidence_leaves_no_step_independent():
    judgement = decision(0.05).judgement(COVERING)
    assert judgement.sufficient
    assert judgement.proof is not None
    assert [step.operator.value for step in judgement.proof.steps] == ["=", "=", "|"]


def test_a_step_without_a_quotation_is_never_covered():
    steps = (*STEPS[:2], ProofStep("in 1901", "", NatOp.INDEPENDENCE))
    judgement = decision(0.0).judgement(COVERING._replace(proof=Proof(steps)))
    assert not judgement.sufficient


def test_files_are_read_as_written(tmp_path):
    file = tmp_path / "step_decision.json"
    file.write_text(decision(0.25).to_json())
    assert StepDecision.read(file) == decision(0.25)


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"threshold": 2}, "threshold"), ({"log_odds": {}}, "log_odds"), ({"more": 1}, "more")],
)
def test_bad_files_name_the_field(tmp_path, change, problem):
    file = tmp_path / "step_decision.json"
    file.write_text(json.dumps(json.loads(decision(0.5).to_json()) | change))
    with pytest.raises(ValueError, match=problem):
        StepDecision.read(file)
