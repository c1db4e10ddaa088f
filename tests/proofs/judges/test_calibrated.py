"""Tests of the calibrated judge and its weights."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import NatOp, default_lexicon
from proofs.judges.calibrated import (
    FEATURES,
    STEP_FEATURES,
    WEIGHTS,
    CalibratedJudge,
    FeatureExtractor,
    Weights,
    covered_by_one_document,
)
from proofs.judges.claim_features import CLAIM_FEATURES
from proofs.judges.fitted_weights import HiddenUnit
from tests.proofs.hostile_texts import claims, evidence

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse at Port Merrow was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill was an Irish engineer.")
EXTRACTOR = FeatureExtractor(default_lexicon())


def weights(threshold=0.0, **features):
    return Weights((HiddenUnit(1.0, 0.0, dict.fromkeys(FEATURES, 0.0) | features),), threshold)


def test_features_can_be_counted_by_hand():
    features = EXTRACTOR.extract(CLAIM, [LIGHTHOUSE, ENGINEER, ("Rain", "It rains.")])
    assert [item.claim for item in features.drafts] == [
        "The lighthouse",
        "at Port Merrow",
        "was built",
        "by an Irish engineer.",
    ]
    claim = dict(zip(CLAIM_FEATURES, features.claim, strict=True))
    assert (claim["words"], claim["steps"], claim["documents"]) == (1.1, 4, 3)
    assert (claim["named"], claim["links"], claim["linked"], claim["largest"]) == (0, 1, 2, 2)
    lacking = EXTRACTOR.extract(CLAIM, [LIGHTHOUSE])
    last = dict(zip(STEP_FEATURES, lacking.steps[-1], strict=True))
    assert (last["names"], last["others"], last["independent"]) == (1, 1, 1)
    assert last["coverage"] == last["linked_coverage"] == 0
    assert dict(zip(STEP_FEATURES, features.steps[-1], strict=True))["coverage"] == 1


def test_deciding_steps_are_independent():
    judge = CalibratedJudge(weights(0.5, names=1.0))
    enough, partly = judge.judge([CLAIM] * 2, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE]])
    assert enough.sufficient
    assert enough.proof is not None
    assert partly.proof is not None
    assert partly.proof.missing == ("by an Irish engineer.",)
    assert not partly.sufficient
    # A step that words cover is independent if its score says so, and then quotes nothing.
    (strict,) = CalibratedJudge(weights(0.7, coverage=1.0)).judge([CLAIM], [[LIGHTHOUSE]])
    assert strict.proof is not None
    assert strict.proof.missing[:3] == ("The lighthouse", "at Port Merrow", "was built")
    assert all(not s.evidence for s in strict.proof.steps if s.operator is NatOp.INDEPENDENCE)


def test_unquotable_steps_merge_with_a_neighbour():
    content = CalibratedJudge(weights(1.0))  # no step scores more than 0
    joined, alone = content.judge([CLAIM, CLAIM], [[LIGHTHOUSE], [("Rain", "It rains.")]])
    assert joined.sufficient
    assert joined.proof is not None
    assert joined.proof.steps[-1].claim == "was built by an Irish engineer."
    assert joined.proof.steps[-1].evidence.startswith("was built")
    assert not alone.sufficient
    assert alone.proof is not None
    assert alone.proof.operators == (NatOp.INDEPENDENCE,)


numbers = st.floats(-3, 3)


@given(claims, evidence, st.dictionaries(st.sampled_from(FEATURES), numbers), numbers)
def test_proof_agrees_with_the_decision(claim, texts, chosen, threshold):
    fitted = weights(threshold, **chosen)
    (judgement,) = CalibratedJudge(fitted).judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    assert judgement.sufficient == judgement.proof.sufficient
    if texts:
        features = EXTRACTOR.extract(claim, texts)
        if covered_by_one_document(features):
            assert judgement.sufficient
            return
        high = [score > threshold for score in fitted.scores(features)]
        assert not (any(high) and judgement.sufficient)
        if all(item.similarity >= 0.3 for item in features.drafts):
            assert judgement.sufficient == (not any(high))
            lacking = [op is NatOp.INDEPENDENCE for op in judgement.proof.operators]
            scores = fitted.scores(features)
            assert all(is_high or not lacks for is_high, lacks in zip(high, lacking, strict=True))
            assert not any(high) or lacking[scores.index(max(scores))]


def test_bundled_weights_separate_full_from_partial_evidence():
    judgements = CalibratedJudge().judge([CLAIM] * 3, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE], []])
    assert [item.sufficient for item in judgements] == [True, False, False]
    assert CalibratedJudge().judge(["  "], [[ENGINEER]])[0].proof is None


@pytest.mark.parametrize("title", ["", "Paris", "Something else"])
@pytest.mark.parametrize(
    "claim", ["Paris is the capital of France.", "The cat sat on the mat.", ENGINEER[1]]
)
def test_verbatim_evidence_is_sufficient(claim, title):
    (judgement,) = CalibratedJudge().judge([claim], [[(title, claim)]])
    assert judgement.sufficient
    assert judgement.proof is not None
    assert set(judgement.proof.operators) == {NatOp.EQUIVALENCE}
    (unrelated,) = CalibratedJudge().judge([claim], [[(title, "It rains in the hills.")]])
    assert not unrelated.sufficient


@pytest.mark.parametrize(
    ("claim", "title", "sentence", "covered"),
    [
        ("Ada Quill was an engineer.", "Ada Quill", "Ada Quill was an engineer.", True),
        ("Ada Quill was an engineer.", "Rain", "Ada Quill was an engineer.", True),
        ("Ada Quill was an engineer.", "Ada Quill", "Ada Quill was not an engineer.", True),
        ("Ada Quill was born in 1873.", "Ada Quill", "Ada Quill was born in 1874.", True),
        ("Ada Quill was a painter.", "Ada Quill", "Ada Quill was an engineer.", False),
        # Possibly another film.
        ("The film was released in 1990.", "Rain", "The film was released in 1991.", False),
        ("The first film was made by an Irish engineer.", "Zed",
         "The second film was made by a Norwegian engineer.", False),
    ],
)  # fmt: skip
def test_covered_by_one_document(claim, title, sentence, covered):
    assert covered_by_one_document(EXTRACTOR.extract(claim, [(title, sentence)])) is covered
    if covered:
        (judgement,) = CalibratedJudge(weights(-1e6)).judge([claim], [[(title, sentence)]])
        assert judgement.sufficient


def test_two_documents_are_not_one():
    sentence = "The lighthouse at Port Merrow was built by Ada Quill, an Irish engineer."
    assert covered_by_one_document(EXTRACTOR.extract(CLAIM, [("Port Merrow Lighthouse", sentence)]))
    assert not covered_by_one_document(EXTRACTOR.extract(CLAIM, [LIGHTHOUSE, ENGINEER]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": "high"}, "field 'threshold': expected a number"),
        ({"threshold": float("nan")}, "field 'threshold': expected a number"),
        ({"threshold": 10**400}, "field 'threshold': expected a number"),
        ({"units": None}, "field 'units': expected a list of units"),
        (
            {"units": [{"vote": 1, "bias": 0, "weights": {}}]},
            r"units\[0\].weights.alone': is missing",
        ),
        ({"colour": 1.0}, "field 'colour': is unknown"),
    ],
)
def test_bad_weights_raise_with_the_field(tmp_path, change, message):
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(json.loads(WEIGHTS.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        Weights.read(path)
    for content, message in (
        ("{", "not a file of weights"),
        ("[" * 10**5, "not a file"),
        ("[]", "n: ex"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=message):
            Weights.read(path)


def test_weights_round_trip(tmp_path):
    before = weights(0.25, names=1.5)
    (tmp_path / "weights.json").write_text(before.to_json())
    assert Weights.read(tmp_path / "weights.json") == before
