"""Judges write valid proofs for hostile and huge inputs, and run no model without evidence."""

import time

import pytest
from hypothesis import given

from proofs import GeneratedProofJudge, LexicalJudge, NatOp, ProofGenerator, Verdict
from proofs.judges.calibrated import CalibratedJudge
from tests.proofs.hostile_texts import claims, evidence
from tests.proofs.untrained_bart import bart
from trie import Seq2Seq

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer born in 1873."
ENGINEER = ("Ada Quill", "Ada Quill (born 1873 in Cork) was an Irish engineer.")
WORDS = ["The", "Irish", "engineer", "did", "not", "build", "3", "towers", "in", "1873"]


def judged(claim, texts):
    """Return the lexical judgement, and check its proof in every form of output."""
    (judgement,) = LexicalJudge().judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    judgement.proof.to_html(texts).encode("utf-8")
    assert type(judgement.proof).parse(judgement.proof.to_text()) == judgement.proof
    return judgement


@given(claims, evidence)
def test_any_text_gives_a_valid_proof(claim, texts):
    judgement = judged(claim, texts)
    assert judgement.sufficient is (not judgement.missing)
    if not judgement.sufficient:
        assert judgement.verdict is Verdict.NOT_ENOUGH_INFO


@pytest.mark.parametrize(
    "texts",
    [
        [("", "")],
        [("Ada", ""), ("", " \n"), ("\x00", "\x1b[2J")],
        [("} {", "{ a } [ b ] ="), ("[ ]", "# | ! < > =")],
        [("</s>", "<s> </s> <pad> [SEP] </s>")],
        [("T", "\u202e \u200b \ufeff \ud800")],
    ],
    ids=["empty", "control", "notation", "tokens", "unicode"],
)
def test_evidence_without_words_is_insufficient(texts):
    judgement = judged(CLAIM, texts)
    assert not judgement.sufficient
    assert set(judgement.proof.operators if judgement.proof else ()) == {NatOp.INDEPENDENCE}


def test_notation_marks_do_not_hide_words():
    texts = [("[Ada] {Quill}", "{ Ada Quill } was [an Irish engineer] = # born | in 1873 </s>")]
    assert judged("Ada Quill was born in 1873.", texts).sufficient
    assert judged("{ Ada Quill } [ was ] = born", texts).proof is not None


def test_huge_evidence_is_judged_quickly():
    enormous = [("x" * 10**6, "word " * 10**6), ("T", "y" * 10**7), *[ENGINEER] * 1000]
    began = time.process_time()  # CPU time, to which other processes do not add
    judgement = judged(CLAIM, enormous)
    assert time.process_time() - began < 20
    assert judgement.missing
    assert "born" not in judgement.missing


@pytest.mark.parametrize(
    "claim",
    ["word " * 10**5, "Quill, said in " * 33_000, " ".join(f"word{at}" for at in range(10**5))],
    ids=["split", "joined", "different"],
)
def test_huge_claim_is_judged_quickly(claim):
    texts = [ENGINEER, *(("T", " ".join(f"Quill {at}{n}" for at in range(250))) for n in range(5))]
    began = time.process_time()
    for judgement in (judged(claim, texts), *CalibratedJudge().judge([claim], [texts])):
        assert not judgement.sufficient
    assert time.process_time() - began < 20


@pytest.mark.parametrize("count", [1, 2, 200])
def test_short_and_long_claims_are_judged(count):
    claim = " ".join((WORDS * 20)[:count])
    judgement = judged(claim, [ENGINEER])
    assert judgement.proof is not None
    assert len(judgement.proof.steps) <= 16
    assert judged("Quill", [ENGINEER]).sufficient
    assert not judged("Merrow", [ENGINEER]).sufficient


def test_no_model_runs_without_evidence(tokens):
    model, runs = bart(tokens), []
    for module in model.modules():
        module.register_forward_pre_hook(lambda *_: runs.append(1))
    generated = GeneratedProofJudge(ProofGenerator(Seq2Seq(model), tokens))
    for judge in (generated, LexicalJudge()):
        (judgement,) = judge.judge([CLAIM], [[]])
        assert not judgement.sufficient
        assert judgement.missing == (CLAIM,)
        assert judgement.verdict is Verdict.NOT_ENOUGH_INFO
    assert not runs
    generated.judge([CLAIM], [[ENGINEER]])
    assert runs
