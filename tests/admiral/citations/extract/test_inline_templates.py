"""What templates, tags and quotes of wikitext say within a sentence."""

import pytest
from click.testing import CliRunner

from admiral.citations.extract import extract_claims, read_page
from admiral.cli.cite import extract_citations_command

MARK = "<ref>{{cite web|url=https://a.example/1}}</ref>"


def claim(wikitext):
    (found,) = extract_claims(wikitext + MARK, format="wikitext")
    return found.claim


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        # Raised and lowered text.
        ("10<sup>8</sup> kg of H<sub>2</sub>O", "10^8 kg of H2O"),
        ("7 m{{sup|2}} and 10{{x10^|3}}", "7 m^2 and 10×10^3"),
        ("since 1804<sup>[4]</sup> or 1805<sup>4</sup>", "since 1804 or 1805"),
        ("[https://a.example 10<sup>8</sup> eggs]", "10^8 eggs"),
        # Numbers do not join.
        ("8{{frac|3|4}} and 9{{sfrac|1|2}}", "8 3/4 and 9 1/2"),
        ("{{val|2.5|0.5|e=-3|u=m|up=s}} or {{val|7|1|2}}", "2.5±0.5×10^-3 m/s or 7 (+1 −2)"),
        ("1804{{spaced em dash}}1805 or 1806{{dash}}07", "1804 — 1805 or 1806–07"),
        ("1804{{xyzzy}}1805", "1804 1805"),
        # Amounts, dates, ages, ships, names.
        ("{{CA$|5}}, {{₿|2}} and {{PHP|9}}", "CA$5, ₿2 and ₱9"),
        ("{{Old Style date|3 May|1700|22 April}}", "3 May [O.S. 22 April] 1700"),
        ("aged {{age|1900|5|6|1950|5|5}}", "aged 49"),
        (
            "{{HMS|Oak|F12}}, {{MV|Ash|2001|6}} and {{ship|SS|Fir}}",
            "HMS Oak (F12), MV Ash and SS Fir",
        ),
        ("an {{sclass|Oak|frigate}}", "an Oak-class frigate"),
        ("{{ill|Anna Bo|de}} and {{ill|Ole (x)|no|lt=Ole}}", "Anna Bo and Ole"),
        ("{{langx|de|die Eiche}} in {{NOR}}", "die Eiche in NOR"),
        ("{{colour|#f00|Stop}}, {{fontcolor|red|go}}", "Stop, go"),
        # What is left out leaves no remains.
        ("Oak ({{IPA|ok}}) is", "Oak is"),
        ("Oak ({{IPA|ok}}; old Ac) is", "Oak (old Ac) is"),
        ("Oak ({{respell|OHK}}, {{IPA|ok}}) is f(x)", "Oak is f(x)"),
        # Quotes.
        ("D'''Eiche'' and '''bold'''", "D'Eiche and bold"),
        ("''Oak''<nowiki/>'s leaf", "Oak's leaf"),
        ("<nowiki>[[a]] ''b'' {{c}}</nowiki>", "[[a]] ''b'' {{c}}"),
    ],
)
def test_text_within_a_sentence(wikitext, text):
    assert claim(f"It is {wikitext} here.") == f"It is {text} here."


def test_templates_that_are_not_known():
    page = (
        "{{Some box|in its own line}}\nIt is {{Foo|red [[stone]]|20px|left}} or {{bar|x=1}} here."
    )
    read = read_page(page + MARK, format="wikitext")
    assert [each.claim.claim for each in read.claims] == ["It is red stone or here."]
    assert read.unknown == {"Foo": 1, "bar": 1}


def test_the_summary_names_templates_that_are_not_known(tmp_path):
    page = tmp_path / "Oak.wiki"
    page.write_text(f"It is {{{{Foo|red}}}}.{MARK}")
    options = [str(page), "--output", str(tmp_path / "claims.jsonl")]
    result = CliRunner().invoke(extract_citations_command, options)
    assert "1 templates are not known; their arguments are kept: 1 {{Foo}}" in result.stderr
