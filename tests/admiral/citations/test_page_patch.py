"""Pages in pieces: the places of marks, and what becomes of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_records import CitationVerdict, ScoredSource
from admiral.citations.extract import page_of_file, read_page
from admiral.citations.page_patch import page_patch

PAGES = Path(__file__).parent / "extract"


def verdicts(page, decision="replace", finding="not_found"):
    return {
        str(number): CitationVerdict(
            claim,
            decision,
            tuple(ScoredSource(one.url, "", "scored", finding=finding) for one in claim.citations),
            (),
        )
        for number, claim in enumerate(each.claim for each in page.claims)
    }


def joined(patch):
    return "".join(piece if isinstance(piece, str) else piece["text"] for piece in patch.pieces)


PIECES = st.sampled_from(
    [
        *("A dog. ", "It ran", "<ref>", "<ref name=a>", "<ref name='a'/>", "</ref>", "{{r|a}}"),
        *("{{", "}}", "{{sfn|A|1}}", "{{cn}}", "http://a.example", "|", "\r\n", "{|", "|}", "<!--"),
        *("-->", "[[", "<nowiki>", "</nowiki>", "\ue001=1-2", "<sup>", '<sup class="reference">'),
        *("</sup>", "<p>", '<sup data-place="0-1" class="reference"><a href="#cite_note-1">'),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(["wikitext", "html"]))
def test_pieces_are_the_whole_page(text, format):
    page = read_page(text, "Dogs", format=format)
    assert joined(page_patch(page, verdicts(page))) == page.text
    for each in page.claims:
        for mark in each.marks:
            if mark.place is not None:
                start, end = mark.place
                assert page.text[start:end].startswith(("<ref", "{{", "<sup"))
                assert page.text[start:end].endswith((">", "}}"))


@pytest.mark.parametrize("name", ["Ashcombe.wiki", "old_parser.html", "parsoid.html"])
def test_every_mark_of_a_page_has_a_place(name):
    page = page_of_file(PAGES / name)
    assert joined(page_patch(page, verdicts(page))) == page.text
    marks = [mark for each in page.claims for mark in each.marks]
    placed = [page.text[slice(*mark.place)] for mark in marks if mark.place]
    assert len(placed) == len(marks) > 1
    assert {text[:4].lower() for text in placed} <= {"<ref", "<sup"} | {
        text[:4].lower() for text in placed if text.startswith("{{")
    }


def test_the_sources_that_fail_are_replaced():
    page = read_page("It is old.<ref>http://a.example</ref>{{r|b}}{{fv}}{{or}} More.")
    (claim,) = (each.claim for each in page.claims)
    findings = dict(
        zip((one.url for one in claim.citations), ("supported", "not_found"), strict=True)
    )
    existing = tuple(
        ScoredSource(url, "", "scored", finding=finding) for url, finding in findings.items()
    )
    verdict = CitationVerdict(claim, "replace", existing, ())
    found = [piece for piece in page_patch(page, {"s": verdict}).pieces if isinstance(piece, dict)]
    assert [(each["text"], each.get("does")) for each in found] == [
        ("{{r|b}}", "replace"),
        ("{{fv}}", "drop"),
    ]
