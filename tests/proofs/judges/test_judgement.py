"""Judgements, and the judges that need no weights of a verifier."""

import json

import pytest
import torch

from proofs import (
    AlwaysSufficient,
    Judgement,
    LexicalJudge,
    NatOp,
    NeverSufficient,
    Proof,
    ProofStep,
)
from proofs.generation.generator import CoveringProof
from proofs.generation.source_input import encode_source
from proofs.judges.classifier import ClassifierJudge, pooled_states
from proofs.judges.fitted_weights import LinearScore
from proofs.judges.generated import STEP_DECISION_FEATURES, StepDecision, step_decision_features
from proofs.judges.judgement import form_warning
from proofs.judges.verifier_judge import VerifierJudge
from tests.proofs.untrained_bart import bart
from tests.proofs.verifier.fixed_verifier import FixedVerifier
from trie import Seq2Seq


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Was Ada born in Kallby?", "question"),
        ("Emmy Awards?", "question"),
        ('Who wrote "Emma?"', "question"),
        ("I think that Ada is the best painter.", "opinion"),
        ("In my opinion, Oslo is too cold.", "opinion"),
        ("Seth Meyers", "name"),
        ("The Lord of the Rings", "name"),
    ],
)
def test_what_states_nothing_is_named(text, says):
    assert says in (form_warning(text) or "")
    (judgement,) = VerifierJudge(FixedVerifier((0.9, 0.05, 0.05))).judge(
        [text], [[("Ada", f"Ada wrote of this: {text}")]]
    )
    assert (judgement.verdict, judgement.proof, judgement.verdicts) == (None, None, None)
    assert judgement.sufficient  # a search for it may stop


@pytest.mark.parametrize(
    "text",
    [
        "Dogs bark.",
        "Rome Burns.",
        "Seth Meyers was born in Illinois",
        "Who's Who is a book.",
        "The film Why? was released in 2001.",
        "Ada thinks that Oslo is cold.",
        "1984 is a novel",
        "dogs bark",
        "",
    ],
)
def test_claims_are_not(text):
    assert form_warning(text) is None


CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse at Port Merrow was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill was an Irish engineer.")


def test_trivial_judges_ignore_the_claim():
    claims, evidence = [CLAIM, CLAIM], [[ENGINEER], []]
    assert NeverSufficient().judge(claims, evidence) == [Judgement(False, None)] * 2
    assert AlwaysSufficient().judge(claims, evidence) == [
        Judgement(True, None),
        Judgement(False, None),
    ]


def test_lexical_judge_finds_missing_spans():
    enough, partly = LexicalJudge().judge([CLAIM] * 2, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE]])
    assert enough.sufficient
    assert not partly.sufficient
    assert partly.proof is not None
    assert partly.proof.missing == ("by an Irish engineer.",)
    partly.proof.validate(CLAIM, [LIGHTHOUSE])


def test_without_evidence_the_whole_claim_is_missing():
    for claim in (CLAIM, " \n"):
        (judgement,) = LexicalJudge().judge([claim], [[]])
        assert not judgement.sufficient
        if claim.strip():
            assert judgement.proof is not None
            assert judgement.proof.operators == (NatOp.INDEPENDENCE,)
            judgement.proof.validate(claim, [])
        else:
            assert judgement.proof is None
    assert LexicalJudge().judge([""], [[ENGINEER]]) == [Judgement(False, None)]


@pytest.mark.parametrize("judge", [NeverSufficient(), AlwaysSufficient(), LexicalJudge()])
def test_claims_and_evidence_must_have_equal_length(judge):
    with pytest.raises(ValueError, match="zip"):
        judge.judge([CLAIM], [])


CLAIMS = ["Ada was Irish.", "The lighthouse is old and white.", " ", "Ada built it."]
EVIDENCE = [[("Ada", "An engineer.")], [("Tower", "It was built."), ("Ada", "Old.")], [("a", "b")]]
EVIDENCE.append([])


def test_pooled_states_ignore_padding(tokens):
    encoder = Seq2Seq(bart(tokens))
    states = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    for row, claim, texts in zip(states, CLAIMS, EVIDENCE, strict=False):
        ids = encode_source(tokens, "prove", claim, texts, encoder.max_source).ids
        hidden, _ = encoder.run_encoder([ids])
        expected = torch.cat([hidden[0].mean(0), hidden[0, 0]])
        torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)


def test_linear_head_decides(tokens):
    encoder = Seq2Seq(bart(tokens))
    first, second = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    weight = first - second
    bias = -(weight @ (first + second)) / 2
    judge = ClassifierJudge(encoder, tokens, weight, bias)
    judgements = judge.judge(CLAIMS, EVIDENCE)
    assert judgements == [Judgement(decision, None) for decision in (True, False, False, False)]
    opposite = ClassifierJudge(encoder, tokens, -weight, -bias).judge(CLAIMS, EVIDENCE)
    assert [j.sufficient for j in opposite] == [False, True, False, False]
    assert judge.judge(CLAIMS[2:], EVIDENCE[2:]) == judgements[2:]


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
