"""The page, the text and the record of a verdict say the same."""

from __future__ import annotations

import re

import pytest

from admiral.citations.audit_page import audit_page
from admiral.citations.citation_records import Citation, CitationVerdict, CitedClaim, ScoredSource
from admiral.citations.decide import no_suggestion, summary, tone
from admiral.citations.verdict_file import verdict_record
from admiral.cli.cite import verdict_text
from tests.admiral.io.test_rendering import Reader


def source(finding, score=1.0, missing=(), share=0.9):
    return ScoredSource(
        "https://a.example", "A", "scored", score, share, 30.0, finding=finding, missing=missing
    )


def verdict(decision, *existing, tags=(), beside=(), query="q"):
    citations = tuple(Citation(one.url, "1") for one in existing)
    claim = CitedClaim("1", "It rained.", "Town", tags=tags, citations=citations)
    return CitationVerdict(claim, decision, existing, (), query=query, supported_beside=beside)


TAG = ("failed-verification",)
CASES = [
    (verdict("keep", source("supported")), "good", "Keep: the source supports it"),
    (verdict("keep", source("supported", share=0.54)), "mid",
     "Keep: leans towards supported, 54%: read the evidence"),
    (verdict("keep", source("supported"), source("partly", 0.5)), "good",
     "Keep: the sources support it"),
    (verdict("keep", source("partly")), "good", "Keep: nothing was found against the source"),
    (verdict("keep", source("partly", missing=("in May",))), "mid",
     "Keep: it was found in the source, but not “in May”"),
    (verdict("keep", source("not_found"), beside=("2",)), "mid",
     "Keep: it was found in another reference of the sentence, [2]"),
    (verdict("flag", source("not_found", missing=("in May",))), "bad",
     "Check: it was not found in the source"),
    (verdict("flag", source("contradicted")), "bad", "Check: the source says otherwise"),
    (verdict("flag", source("supported"), source("contradicted")), "bad",
     "Check: a source says otherwise"),
    (verdict("replace", source("not_found")), "bad",
     "Replace: it was not found in the source, and a better source was found"),
    (verdict("flag", source("partly"), tags=TAG), "bad",
     "Check: editors have tagged it as failing verification"),
    (verdict("flag", source("supported"), tags=TAG), "bad",
     "Check: editors have tagged it as failing verification, though it seems to be in the source"),
    (verdict("not_checked", ScoredSource("", "B", "no_text")), "mid",
     "Not checked: a source could not be read"),
    (verdict("add"), "mid", "Add: a source was found for a statement without one"),
    (verdict("not_checked"), "mid", "Not checked: no source is cited, and none was found"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "asks", "said"), CASES)
def test_a_verdict_says_one_thing_everywhere(one, asks, said):
    assert (summary(one), tone(one)) == (said, asks)
    assert verdict_record(one)["summary"] == said
    assert said in re.sub(r"\s+", " ", verdict_text(one))
    assert said in Reader("".join(audit_page("Town", [one]))).text


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (verdict("flag", source("not_found")), "No better source was found."),
        (verdict("keep", source("supported")), "No other source is needed."),
        (verdict("flag", source("not_found"), query=""), "No other source was searched for."),
    ],
)
def test_why_nothing_is_suggested(one, said):
    assert no_suggestion(one) == said
