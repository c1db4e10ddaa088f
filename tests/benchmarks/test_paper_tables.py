"""The page of the papers' tables is what the experiments say."""

import pytest

from benchmarks.paper_tables import PAGE, described, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m benchmarks.paper_tables`"


@pytest.mark.parametrize(
    "content", [content for _, content in described()], ids=lambda c: c["title"]
)
def test_each_row_has_a_counterpart_or_says_what_it_needs(content):
    paper = content["paper"]
    ours, missing = paper.get("ours") or {}, paper.get("missing") or {}
    assert sorted([*ours, *missing]) == sorted(paper["rows"])
    assert set(ours.values()) <= {system["name"] for system in content["systems"]}
