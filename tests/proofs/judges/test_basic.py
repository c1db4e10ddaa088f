"""Tests of the judges that need no model."""

import pytest

from proofs import AlwaysSufficient, Judgement, LexicalJudge, NatOp, NeverSufficient

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse at Port Merrow was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill was an Irish engineer.")


def test_trivial_judges_ignore_the_claim() -> None:
    claims, evidence = [CLAIM, CLAIM], [[ENGINEER], []]
    assert NeverSufficient().judge(claims, evidence) == [Judgement(False, None)] * 2
    assert AlwaysSufficient().judge(claims, evidence) == [
        Judgement(True, None),
        Judgement(False, None),
    ]


def test_lexical_judge_finds_missing_spans() -> None:
    enough, partly = LexicalJudge().judge([CLAIM] * 2, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE]])
    assert enough.sufficient
    assert not partly.sufficient
    assert partly.proof is not None
    assert partly.proof.missing == ("by an Irish engineer.",)
    partly.proof.validate(CLAIM, [LIGHTHOUSE])


def test_without_evidence_the_whole_claim_is_missing() -> None:
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
def test_claims_and_evidence_must_have_equal_length(judge: LexicalJudge) -> None:
    with pytest.raises(ValueError, match="zip"):
        judge.judge([CLAIM], [])
