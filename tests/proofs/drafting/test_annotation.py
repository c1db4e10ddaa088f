"""Annotated proofs agree with the label of the evidence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import AnnotationError, NatOp, Verdict, annotate, lexical_proof
from tests.proofs.hostile_texts import claims, evidence

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer born in 1873."
LIGHTHOUSE = (
    "Port Merrow Lighthouse",
    "The lighthouse at Port Merrow was built by Ada Quill, whose tower replaced a beacon.",
)
ENGINEER = ("Ada Quill", "Ada Quill (born 1873 in Cork) was an Irish engineer.")
OTHER = ("Bo Lind", "Bo Lind (born 1901 in Oslo) was a Norwegian painter.")


@given(claims, evidence, st.booleans(), st.sampled_from([None, True, False]))
def test_annotation_agrees_with_the_label(claim, texts, sufficient, refuted):
    try:
        proof = annotate(claim, texts, sufficient, refuted)
    except AnnotationError:
        # Only if nothing can be quoted; then no word of the claim is covered either.
        assert sufficient
        assert all(not step.evidence for step in lexical_proof(claim, texts).steps)
        return
    proof.validate(claim, texts)
    assert proof.sufficient is sufficient
    assert proof == annotate(claim, texts, sufficient, refuted)
    if not sufficient:
        assert proof.verdict() is Verdict.NOT_ENOUGH_INFO
    elif refuted is not None:
        assert proof.verdict() is (Verdict.REFUTES if refuted else Verdict.SUPPORTS)


def _operators(proof):
    return {step.claim: step.operator.value for step in proof.steps}


def test_full_evidence_is_not_repaired():
    proof = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], True, False)
    assert proof == lexical_proof(CLAIM, [LIGHTHOUSE, ENGINEER])
    assert {step.claim: step.evidence for step in proof.steps} == {
        "The lighthouse": "The lighthouse",
        "at Port Merrow": "at Port Merrow",
        "was built": "was built",
        "by an Irish engineer": "an Irish engineer",
        "born": "born",
        "in 1873.": "1873 in",
    }


def test_spans_of_withheld_evidence_are_independent():
    proof = annotate(CLAIM, [LIGHTHOUSE, OTHER], False, withheld=[ENGINEER])
    assert _operators(proof) == {
        "The lighthouse": "=",
        "at Port Merrow": "=",
        "was built": "=",
        "by an Irish engineer": "#",
        "born": "=",
        "in 1873.": "#",
    }


def test_different_value_refutes():
    wrong = CLAIM.replace("Irish", "Italian")
    proof = annotate(wrong, [LIGHTHOUSE, ENGINEER], True, True)
    assert _operators(proof)["by an Italian engineer"] == "|"
    assert [o.value for o in proof.operators].count("=") == len(proof.steps) - 1


def test_repair_changes_the_fewest_operators():
    sure = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], True, False)
    repaired = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], False)
    changed = [a != b for a, b in zip(sure.operators, repaired.operators, strict=True)]
    assert sum(changed) == 1
    assert len(repaired.missing) == 1
    refuted = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], True, True)
    changed = [a != b for a, b in zip(sure.operators, refuted.operators, strict=True)]
    assert sum(changed) == 1


def test_impossible_annotations_raise():
    with pytest.raises(AnnotationError, match="no words"):
        annotate(" \n", [LIGHTHOUSE], False)
    for nothing in ([], [("", "")], [("The", "of the ] ,")]):
        with pytest.raises(AnnotationError, match="quoted"):
            annotate(CLAIM, nothing, True)
        assert set(annotate(CLAIM, nothing, False).operators) == {NatOp.INDEPENDENCE}


def test_huge_evidence_is_truncated():
    proof = annotate(CLAIM, [("x" * 100_000, "word " * 100_000), LIGHTHOUSE], True)
    proof.validate(CLAIM, [LIGHTHOUSE])
