"""Findings and decisions, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_records import CitedClaim, ScoredSource
from admiral.citations.decide import FAILING_TAG, DecisionRule, FindingRule

FINDINGS = FindingRule(not_found=0.0, supported=2.0, contradicted=0.5)
RULE = DecisionRule(margin=1.0)
PAPER = DecisionRule(margin=1.0, paper_rule=True)
CLAIM = CitedClaim("1", "It opened in 1931.")
TAGGED = replace(CLAIM, tags=(FAILING_TAG,))
UNREAD = ScoredSource("https://b.example", "", "no_text")


def source(score, denial=None):
    return ScoredSource(
        "https://a.example", "", "scored", score, finding=FINDINGS.finding(score, denial)
    )


@pytest.mark.parametrize(
    ("score", "denial", "finding"),
    [
        (2.0, None, "supported"),
        (2.0, 0.49, "supported"),
        (9.0, 0.5, "contradicted"),
        (-9.0, 0.5, "contradicted"),
        (1.9, None, "partly"),
        (0.0, 0.1, "partly"),
        (-0.1, 0.1, "not_found"),
    ],
)
def test_findings(score, denial, finding):
    assert FINDINGS.finding(score, denial) == finding


@pytest.mark.parametrize(
    ("existing", "best", "decision", "by_paper"),
    [
        (source(3.0), source(2.5), "keep", "keep"),
        (source(2.0), source(2.0), "keep", "keep"),  # a tie keeps the existing source
        (source(0.0), None, "keep", "keep"),
        (source(1.0), source(5.0), "keep", "replace"),
        (source(1.0), source(1.5), "keep", "replace"),  # better, but does not support it
        (source(-0.1), source(-1.0), "flag", "flag"),
        (source(-1.0), None, "flag", "flag"),
        (source(-1.0), source(2.0), "replace", "replace"),
        (source(-1.0), source(1.9), "flag", "replace"),  # the better of two bad ones
        (source(-1.0), source(9.0, denial=0.9), "flag", "flag"),  # a candidate that denies it
        (source(9.0, denial=0.9), None, "flag", "flag"),
        (source(9.0, denial=0.9), source(2.0), "replace", "replace"),
    ],
)
def test_scored_sources(existing, best, decision, by_paper):
    candidates = [] if best is None else [best]
    assert RULE.decide(CLAIM, [existing], None, candidates) == decision
    assert PAPER.decide(CLAIM, [existing], None, candidates) == by_paper


@given(st.floats(-5, 5), st.floats(0.5, 1), st.none() | st.floats(-5, 5))
def test_a_source_that_denies_the_claim_is_never_kept(score, denial, other):
    """Whatever its score is, and whatever stands beside it."""
    existing = [source(score, denial), *([] if other is None else [source(other)])]
    assert RULE.decide(CLAIM, existing, source(5.0), []) == "flag"


def test_sources_that_deny_the_claim_only_together_are_not_kept():
    assert RULE.decide(CLAIM, [source(3.0), source(3.0)], source(5.0, 0.9), []) == "flag"


@pytest.mark.parametrize(
    ("best", "decision"),
    [(source(2.0), "add"), (source(1.9), "not_checked"), (None, "not_checked")],
)
def test_claims_without_citations(best, decision):
    assert RULE.decide(CLAIM, [], None, [] if best is None else [best]) == decision


@given(st.none() | st.floats(-5, 5), st.booleans())
def test_what_was_not_read_never_fails(best, paper):
    rule = PAPER if paper else RULE
    candidates = [] if best is None else [source(best)]
    assert rule.decide(CLAIM, [UNREAD], None, candidates) == "not_checked"
    assert rule.decide(CLAIM, [source(-1.0), UNREAD], None, candidates) == "not_checked"
    assert rule.decide(CLAIM, [source(9.0), UNREAD], None, candidates) == "keep"


@pytest.mark.parametrize(
    ("existing", "best", "decision"),
    [
        (UNREAD, None, "flag"),
        (source(3.0), None, "flag"),
        (source(3.0), source(4.0), "flag"),  # the verifier disagrees with the editors
        (source(1.0), source(4.0), "replace"),
        (source(-1.0), None, "flag"),
    ],
)
def test_tags_of_editors_come_first(existing, best, decision):
    assert RULE.decide(TAGGED, [existing], None, [] if best is None else [best]) == decision


def test_several_sources_may_support_a_claim_together():
    alone = [source(-1.0), source(-2.0)]
    assert RULE.decide(CLAIM, alone, None, []) == "flag"
    assert RULE.decide(CLAIM, alone, source(3.0), []) == "keep"
    assert RULE.decide(CLAIM, alone[:1], None, [], beside=True) == "keep"
    # A candidate has to be better than all of them together.
    assert PAPER.decide(CLAIM, alone, source(3.0), [source(2.5)]) == "keep"


@pytest.mark.parametrize(
    ("decision", "existing", "candidate", "offered"),
    [
        ("add", None, source(2.0), True),
        ("add", None, source(1.9), False),
        ("flag", source(-1.0), source(1.9), False),
        ("replace", source(-1.0), source(2.0), True),
        ("replace", source(-1.0), source(9.0, denial=0.9), False),
        ("keep", source(1.5), source(2.5), True),
        ("keep", source(1.5), source(2.4), False),
    ],
)
def test_only_sources_that_support_the_claim_are_offered(decision, existing, candidate, offered):
    assert RULE.offers(decision, existing, candidate) is offered


def test_the_rule_of_the_paper_offers_the_better_of_two_bad_sources():
    assert PAPER.offers("replace", source(-1.0), source(-0.5))
    assert not PAPER.offers("replace", source(-1.0), source(-1.0))
