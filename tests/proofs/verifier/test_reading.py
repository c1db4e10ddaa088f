"""Evidence as one text."""

from proofs.verifier.reading import evidence_text


def test_evidence_is_grouped_by_document():
    sentences = [("Rome", "It is old."), ("Oslo", "It is cold."), ("Rome", "It has hills.")]
    assert evidence_text(sentences) == "Rome: It is old. It has hills. Oslo: It is cold."
    assert evidence_text([]) == ""
