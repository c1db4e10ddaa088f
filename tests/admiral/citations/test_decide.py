"""The table of decisions, cell by cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.decide import DecisionRule

RULE = DecisionRule(fail=0.0, accept=2.0, margin=1.0)
PAPER = DecisionRule(fail=0.0, accept=2.0, margin=1.0, paper_rule=True)


@pytest.mark.parametrize(
    ("existing", "best", "decision", "by_paper"),
    [
        (3.0, 2.5, "keep", "keep"),  # first, not failing
        (0.0, None, "keep", "keep"),
        (2.0, 2.0, "keep", "keep"),  # a tie keeps the existing source
        (-0.1, -1.0, "flag", "flag"),  # first, failing
        (-1.0, None, "flag", "flag"),
        (-1.0, 2.0, "replace", "replace"),  # second, failing, a good candidate
        (-1.0, 1.9, "flag", "flag"),  # second, failing, no good candidate
        (1.0, 5.0, "keep", "replace"),  # second, not failing
        (1.0, 1.5, "keep", "replace"),
    ],
)
def test_scored_sources(existing, best, decision, by_paper):
    assert RULE.decide(existing, best) == decision
    assert PAPER.decide(existing, best) == by_paper


@pytest.mark.parametrize(
    ("best", "decision"), [(2.0, "add"), (1.9, "not_checked"), (None, "not_checked")]
)
def test_claims_without_citations(best, decision):
    assert RULE.decide(None, best, cites=False) == decision


@given(st.none() | st.floats(-5, 5), st.booleans())
def test_what_was_not_read_never_fails(best, paper):
    rule = PAPER if paper else RULE
    assert rule.decide(None, best, unread=True) == "not_checked"
    assert rule.decide(-1.0, best, unread=True) == "not_checked"
    assert rule.decide(3.0, 2.0, unread=True) == "keep"


@pytest.mark.parametrize(
    ("existing", "candidate", "offered", "by_paper"),
    [
        (None, -9.0, True, True),
        (-1.0, -9.0, True, True),
        (1.0, 2.0, True, True),
        (1.0, 1.9, False, True),
        (1.0, 0.9, False, False),
    ],
)
def test_alternatives(existing, candidate, offered, by_paper):
    assert RULE.offers(existing, candidate) is offered
    assert PAPER.offers(existing, candidate) is by_paper
