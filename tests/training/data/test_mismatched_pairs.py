"""Neutral pairs from evidence of other claims about the same."""

from __future__ import annotations

from training.data.mismatched_pairs import mismatched_pairs
from training.data.verification_pairs import Pair


def pair(claim: str, evidence: str, source: str = "fever") -> Pair:
    return Pair(claim, evidence, "entailment", source)


def test_evidence_names_the_same_and_shares_no_sentence() -> None:
    pairs = [
        pair("Ada Brook was born in Wales.", "Ada Brook is Welsh. She was born there."),
        pair("Ada Brook is a painter.", "Ada Brook painted."),
        pair("Ada Brook is famous.", "Ada Brook painted. Ada Brook was born in 1941."),
        pair("Ada Brook is rich.", "Ada Brook has a house.", source="other"),
        pair("Oslo is cold.", "Oslo has snow."),
        pair("It is cold.", "It has snow."),
    ]
    made = list(mismatched_pairs(pairs, "fever", 0))
    assert made == list(mismatched_pairs(pairs, "fever", 0))
    assert {one.claim for one in made} == {one.claim for one in pairs[:3]}
    for one in made:
        assert (one.label, one.relevance, one.source) == ("neutral", False, "fever")
        assert "Ada Brook" in one.evidence
        assert "house" not in one.evidence
    assert made[1].evidence == made[2].evidence == pairs[0].evidence
    assert not list(mismatched_pairs(pairs, "snli", 0))
