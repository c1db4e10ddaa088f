"""Hostile wikitext and HTML: no input crashes the readers or takes them long."""

from contextlib import suppress
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations import extract
from admiral.citations.extract import claims_of_file, extract_claims
from admiral.errors import AdmiralError

PIECES = st.sampled_from(
    [
        *("<ref>", "</ref>", "<ref name=a>", "<ref name='a' />", "<ref name=", "<references>"),
        *("{{", "}}", "{{{", "}}}", "{{cite web|url=", "{{sfn|A|1999}}", "{{r|a}}", "|", "="),
        *("[[", "]]", "[[File:a|", "[http://a.example ", "]", "http://b.example", "\n", "\n\n"),
        *("{|", "|}", "|-", "== H ==", "* ", ": ", "<!--", "-->", "<nowiki>", "</nowiki>", "''"),
        *("<span style='display:none'>", "</span>", "<div>", "</div>", "<gallery>", "&amp;", "<"),
        *("A word. ", "Another one", ".", "\0", "\ud800", "é", "{{efn|", "{{quote|"),
        *("{{convert|5|",),
        *("\n{|\n", "\n| ", "\n! ", "!!", "||", "\n|}", "\n|-", "\n|+", "rowspan=3 |"),
        *("colspan=9|",),
        *("{{Infobox a\n| b = ", "\n| b_ref = ", "<ref>[http://a.b c]</ref>", "<table>", "<tr>"),
        *("<td>", "<th colspan=2>", "</td>", "</table>", "[[File:a|thumb|", "== ", " =="),
        *("<math>", "{{#tag:ref|", "__TOC__", "----", "<br/>", "{{failed verification}}", "\u2028"),
    ]
)
_MARK = "<sup class='reference'><a href='#cite_note-1'>[1]</a></sup>"
HTML_PIECES = st.sampled_from(
    [
        *("<table class='infobox'>", "<tr>", "<td rowspan=2>", "<th colspan=3>", "<caption>"),
        *(_MARK,),
        *("<figure>", "<figcaption>", "<div class='thumbcaption'>", "[note 1]", "5", "It rained."),
        *("<p>", "</p>", "<sup class='reference'>", "</sup>", "<a href='#cite_note-1'>", "</a>"),
        *("[1]", "<ol class='references'>", "<li id='cite_note-1'>", "</li>", "<table>"),
        *("</table>",),
        *("<h2>", "</h2>", "<cite class='citation web'>", "<a class='external' href='http://a.b'>"),
        *("A word. ", "Another", "<!--", "-->", "<script>", "</script>", "&amp;", "&#0;", "<"),
        *("\0",),
        *("<section>", "<div style='display:none'>", "</div>"),
        *("<a class='external' href='javascript:1'>",),
        *("<li id='cite_note-1' class='citation'>", "<span class='Z3988' title='rft.title=%ff'>"),
        *("\ud800",),
    ]
)
TOKENS = (
    *("<ref name=", "{{a|", "{{{a|", "<a ", "[[File:a|b<ref>c</ref>", "[http://a ", "<!--"),
    *("{|\n|", "\n|-\n| rowspan=999 | a<ref>b</ref>", "==", "&#x;", "'''", "<gallery>", "<li>"),
)
HTML_TOKENS = (
    "<div>",
    "<p>",
    "<sup class=reference>",
    "<table>",
    "<a href='#cite_note-1'>",
    "<",
    "<b>",
    f"<table><tr><td>{_MARK}",
    f"<table><caption>a{_MARK}<tr><th>a{_MARK}",
    f"<td>{_MARK}",
    f"<tr><td rowspan=999>a{_MARK}",
    f"<figure><figcaption>a{_MARK}",
    f"<h2>a{_MARK}",
)


def check(claims):
    assert len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.span is not None
        start, end = claim.span
        assert 0 <= start <= end <= len(claim.claim)
        assert claim.claim.strip() == claim.claim != ""
        assert claim.citations or "citation-needed" in claim.tags
        for citation in claim.citations:
            assert not citation.url or citation.url.lower().startswith(("http:", "https:", "ftp:"))


@given(st.lists(PIECES | st.text(max_size=8), max_size=40))
def test_wikitext_of_any_pieces(pieces):
    check(extract_claims("".join(pieces), "T", format="wikitext", lists=True))


@given(st.lists(HTML_PIECES | st.text(max_size=8), max_size=40))
def test_html_of_any_pieces(pieces):
    check(extract_claims("".join(pieces), "T", format="html", lists=True))


@given(st.text())
def test_any_text(text):
    check(extract_claims(text, "T"))


@pytest.mark.parametrize("token", TOKENS)
def test_time_is_bounded_for_wikitext(token, monkeypatch):
    monkeypatch.setattr(extract, "MOST_SECONDS", 0.5)
    text = f"A. {token * (20_000 // len(token))}"
    with suppress(AdmiralError):  # that it takes too long
        check(extract_claims(text, "T", format="wikitext"))


def test_a_page_of_a_dump_that_takes_too_long_is_left_out(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(extract, "MOST_SECONDS", 0.5)
    pages = {"Bad": "{{a|" * 20_000, "Mill": "It burned.<ref>http://a.example/1</ref>"}
    written = "".join(
        f"<page><title>{title}</title><ns>0</ns><revision><text>{escape(text)}</text></revision>"
        "</page>"
        for title, text in pages.items()
    )
    dump = tmp_path / "dump.xml"
    dump.write_text(f"<mediawiki>{written}</mediawiki>")
    assert [claim.page for claim in claims_of_file(dump)] == ["Mill"]
    assert "left out: page 'Bad': takes longer" in caplog.text


@pytest.mark.parametrize("token", HTML_TOKENS)
def test_time_is_bounded_for_html(token):
    text = f"<p>A. <table><tr>{token * (40_000 // len(token))}"
    check(extract_claims(text, "T", format="html"))  # within the limit
