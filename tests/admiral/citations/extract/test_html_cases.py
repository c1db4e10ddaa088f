"""Pages in HTML as MediaWiki's old parser and Parsoid write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from admiral.citations.citation_records import Citation
from admiral.citations.extract import extract_claims

FOLDER = Path(__file__).parent
OLD = (FOLDER / "old_parser.html").read_text(encoding="utf-8")
PARSOID = (FOLDER / "parsoid.html").read_text(encoding="utf-8")
COPY = "https://web.archive.org/web/2010/https://a.example/1"


def parts(claims):
    return [
        (each.claim, each.claim[slice(*each.span or (0, 0))], [one.url for one in each.citations])
        for each in claims
    ]


def test_the_old_parser():
    every = extract_claims(OLD)
    claims = [each for each in every if each.kind == "sentence"]
    assert [(each.kind, each.claim) for each in every if each not in claims] == [
        ("infobox", "Tall"),
        ("caption", "Shown."),
        ("list", "A title"),
    ]
    assert parts(claims) == [
        ("Joe Hipp is a boxer.", "Joe Hipp is a boxer.", ["https://a.example/1"]),
        ("He is tall, and old.", "He is tall,", ["http://b.example/x"]),
        ("He is tall, and old.", "and old.", ["https://books.example/s"]),
        ("He won it in 1994.", "He won it in 1994.", ["http://b.example/x"]),
    ]
    assert claims[0].page == "Joe Hipp"
    assert [each.section for each in claims] == [(), (), (), ("Career",)]
    assert [each.tags for each in claims] == [("failed-verification",), (), (), ()]
    assert claims[0].citations == (
        Citation(
            "https://a.example/1", "1", "A title", COPY, "2010-01-02", "cite web", publisher="Pub"
        ),
    )


def test_without_items_of_lists():
    assert all(each.kind != "list" for each in extract_claims(OLD, lists=False))


def test_parsoid():
    claims = extract_claims(PARSOID)
    assert parts(claims) == [
        ("He is a boxer.", "He is a boxer.", ["https://p.example/1"]),
        ("He fought.", "He fought.", ["https://p.example/1"]),
    ]
    assert [each.section for each in claims] == [(), ("Life", "Early")]
    assert claims[1].citations[0].title == "Pea"


def test_links_that_run_scripts_are_no_sources():
    page = PARSOID.replace("https://p.example/1", "javascript:alert(1)")
    assert [each.citations[0].url for each in extract_claims(page)] == ["", ""]


@pytest.mark.parametrize("text", ["", " ", "<", "<html>", "\0", "<p>", "<!-- "])
def test_pages_without_text(text):
    assert extract_claims(text, format="html") == []
