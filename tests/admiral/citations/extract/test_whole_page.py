"""A whole page of wikitext, written like those of Wikipedia, and the bundled demo."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from admiral.citations.extract import claims_of_file

PAGE = Path(__file__).with_name("Ashcombe.wiki")
DEMO = Path(__file__).parents[4] / "admiral" / "data" / "citations"


def claims(**options):
    return list(claims_of_file(PAGE, **options))


def test_every_reference_of_the_text_is_found():
    """42 citations: of references in place, named, listed, short, bundled and in templates."""
    sentences = [claim for claim in claims() if claim.kind == "sentence"]
    found = Counter(each.template for claim in sentences for each in claim.citations)
    assert found == {
        "cite web": 16,
        "cite book": 7,
        "": 5,
        "cite news": 4,
        "cite journal": 3,
        "cite av media": 2,
        "cite map": 1,
        "cite report": 1,
        "cite magazine": 1,
        "cite thesis": 1,
        "cite tweet": 1,
    }
    assert found.total() == 42


def test_tags_sections_and_kinds():
    found = claims()
    assert Counter(tag for claim in found for tag in claim.tags) == {
        "citation-needed": 1,
        "failed-verification": 1,
        "dead-link": 1,
        "better-source-needed": 1,
        "unreliable-source": 1,
    }
    assert {claim.section for claim in found} == {
        (),
        ("History", "Middle Ages"),
        ("History", "Wool"),
        ("History", "Railway"),
        ("Geography",),
        ("Economy",),
        ("Culture",),
        ("Education",),
    }
    others = {claim.kind: claim for claim in found if claim.kind != "sentence"}
    assert {kind: (each.claim, each.citations[0].url) for kind, each in others.items()} == {
        "list": ("Quarries", "https://quarries.example"),
        "infobox": ("Population: 8,412", "https://census.example/2021/ashcombe"),
        "caption": ("The seal of 1301", "https://seals.example/ashcombe"),
        "table": ("Year: 1402; Mills: 1", "https://mills.example/table"),
    }


def test_nothing_of_what_is_left_out_is_a_claim():
    urls = {each.url for claim in claims() for each in claim.citations}
    assert "https://trail.example" not in urls  # a comment
    text = "\n".join(claim.before + claim.claim + claim.after for claim in claims())
    for left_out in ("1402 ||", "With the old beams", "Category", "de:", "font"):
        assert left_out not in text


def test_references_that_are_defined_elsewhere():
    by_claim = {claim.claim: [each.url for each in claim.citations] for claim in claims()}
    assert by_claim["It had 8,412 inhabitants in 2021."] == ["https://census.example/2021/ashcombe"]
    assert by_claim["The table is based on the rolls of the manor."] == [
        "https://mills.example/table"
    ]
    assert by_claim["Trade fell away after 1720."] == [
        "https://books.example/hurst",
        "https://books.example/pell/gazetteer",
    ]
    assert by_claim["The market hall was rebuilt in 1902 after a fire."] == [
        "https://mercury.example/1901/11/05"
    ]
    assert by_claim["A town that goes to bed with the hens."] == ["https://letters.example/orme"]


def test_gold_of_the_demo_names_the_citations_of_its_pages():
    gold = [json.loads(line) for line in (DEMO / "gold.jsonl").read_text().splitlines()]
    found = [
        (claim.id, each.name, each.url)
        for page in sorted((DEMO / "pages").iterdir())
        for claim in claims_of_file(page)
        for each in claim.citations
        if claim.kind == "sentence"
    ]
    assert sorted(found) == sorted((each["id"], each["name"], each["url"]) for each in gold)
    assert len(gold) == 174
    assert Counter(each["supported"] for each in gold) == {True: 123, False: 44, None: 7}


def test_the_demo_is_small():
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 300_000
