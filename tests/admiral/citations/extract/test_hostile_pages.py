"""Hostile wikitext and HTML: no input crashes the readers or takes them long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.extract import extract_claims
from admiral.citations.extract.wikitext_nodes import wikitext_lines

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
    *("<ref>", "<ref name=", "<ref name='", "<ref name=x ></ref>", "</ref>", "<a ", "<b>", "<li>"),
    *("{{", "}}", "{{{", "{{a|", "{{a|\n", "{{a\nb}}", "{{{a|", "[[", "]]", "[[a|", "[[a\n]]"),
    *("{|",),
    *("{|\n|", "{|\n|-\n!a||", "[http://a ", "=", "=a\n", ";:*#", "<!--", "<nowiki>"),
    *("<math>a<pre>",),
    *("\n{|\n|a<ref>b</ref>", "\n{|\n|-\n|a<ref>b</ref>\n|}", "||a<ref>b</ref>", "||<ref>b</ref>"),
    *("\n|-\n| rowspan=999 | a<ref>b</ref>", "\n|-\n! colspan=999 | a<ref>b</ref>"),
    *("{{Infobox|a=<ref>b</ref>", "|a=<ref>b</ref>", "<table><tr><td>a<ref>b</ref>"),
    *("[[File:a|b<ref>c</ref>", "{{efn|a<ref>b</ref>"),
    *("{{[[<ref>", "{{a [[b}}]]", "'''", "http://", "&amp", "&#x;", "<div>", "<gallery>"),
    *("{{#tag:ref|",),
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


@given(st.lists(PIECES, max_size=30))
def test_lines_are_well_formed(pieces):
    for line in wikitext_lines("".join(pieces)):
        assert line.count("<ref>") + line.count("<ref name=a>") <= line.count("</ref>") + 1
        assert line.count("{{") <= line.count("}}") + 24 * 3  # runs of braces may differ


@pytest.mark.parametrize("token", TOKENS)
def test_time_is_bounded_for_wikitext(token):
    text = f"A. {token * (20_000 // len(token))}"
    start = time.process_time()
    extract_claims(text, "T", format="wikitext")
    assert time.process_time() - start < 1


@pytest.mark.parametrize("token", HTML_TOKENS)
def test_time_is_bounded_for_html(token):
    text = f"<p>A. <table><tr>{token * (40_000 // len(token))}"
    start = time.process_time()
    extract_claims(text, "T", format="html")
    assert time.process_time() - start < 3
