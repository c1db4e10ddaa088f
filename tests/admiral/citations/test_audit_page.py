"""The audit page: order, content, links and escaping."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.audit_page import audit_page, linked
from admiral.citations.citation_records import (
    Citation,
    CitationVerdict,
    CitedClaim,
    ScoredPart,
    ScoredSource,
)
from admiral.sources import Passage, Source
from tests.admiral.io.test_rendering import Reader

TEXT = "It was dry in May. The town flooded in 1953. Later it dried."


class Links(HTMLParser):
    """Collects the addresses of links, and what elements refer to."""

    def __init__(self, page):
        super().__init__()
        self.addresses: list[str] = []
        self.names: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]


def source(score, url="https://a.example/x", title="Floods", finding="partly"):
    passage = Passage(url, title, 0, 19, 44, TEXT[19:44])
    return ScoredSource(
        url,
        title,
        "scored",
        score,
        probability=0.25,
        percentile=4.0,
        passage=passage,
        parts=(ScoredPart("The town flooded", 1.5, 0), ScoredPart("in 1962", -2.0, None)),
        missing=("in 1962",),
        finding=finding,
    )


def verdict(text, decision, *existing, suggestions=(), warnings=(), tags=(), query=""):
    citations = tuple(Citation(each.url, "7") for each in existing)
    claim = CitedClaim(
        text[:20],
        text,
        "Town",
        ("History", "Floods"),
        "Before.",
        "After.",
        (0, len(text)),
        tags=tags,
        citations=citations,
    )
    return CitationVerdict(claim, decision, existing, suggestions, warnings, query)


def page(*verdicts, text=TEXT):
    return "".join(audit_page("Town", verdicts, ["A note."], lambda url: Source(url, "", text)))


def test_statements_keep_their_order_and_unchecked_ones_are_apart():
    unread = ScoredSource("https://b.example", "", "no_text")
    shown = page(
        verdict("Unread claim.", "not_checked", unread),
        verdict("Good claim.", "keep", source(3.0)),
        verdict("Bad claim.", "flag", source(-3.0)),
        verdict("Both claim.", "keep", source(-9.0), source(1.0)),
        verdict("Bare claim.", "add", suggestions=(source(2.0),)),
    )
    shown = shown[: shown.index("</main>")]
    order = re.findall(r"(Unread|Good|Bad|Both|Bare) claim", shown)
    assert order == ["Good", "Bad", "Both", "Bare", "Unread"]
    assert shown.index("<h2>Not checked</h2>") > shown.index("Bare claim")


def test_page_shows_every_part_of_a_verdict():
    better = replace(
        source(4.0, "https://c.example/better", "Better floods", "supported"),
        wikitext="{{cite web |url=https://c.example/better |title=Better floods}}",
    )
    found = Reader(
        page(
            verdict(
                "The town flooded in 1962.",
                "replace",
                source(-1.0, finding="not_found"),
                suggestions=(better, source(1.0, title="Third floods")),
                warnings=("The date is older than the source.",),
                tags=("dead-link",),
            )
        )
    )
    for said in (
        "Citations of Town",
        "A note.",
        "Replace: it was not found in the source, and a better source was found",
        "Town › History › Floods · tagged dead link",
        "[7] Floods",
        "not found",
        "support 25% · score -1.00 · above 4% of reference citations",
        "It was dry in May. The town flooded in 1953. Later it dried.",
        "Passage 1, characters 19 to 44",
        "{{cite web |url=https://c.example/better |title=Better floods}}",
        "Third floods",
        "The date is older than the source.",
    ):
        assert said in found.text, said
    assert found.tags.count("mark") == 3


def test_what_a_source_denies_is_said_first_and_without_a_percentile():
    denying = replace(
        source(3.0, finding="contradicted"), denied_by="The town flooded in 1953.", denial=0.9
    )
    shown = Reader(page(verdict("The town flooded in 1962.", "flag", denying))).text
    assert "Check: the source says otherwise" in shown
    assert "contradicted" in shown
    assert "reference citations" not in shown
    assert "It says: The town flooded in 1953." in shown


@given(
    st.sampled_from(["keep", "flag", "replace", "add"]),
    st.sampled_from(["supported", "partly", "contradicted", "not_found"]),
    st.booleans(),
    st.booleans(),
)
def test_the_page_never_denies_what_it_shows(decision, finding, suggests, searched):
    better = (source(5.0, title="Better one", finding="supported"),) * suggests
    query = "query" * searched
    shown = Reader(
        page(verdict("A claim.", decision, source(1.0, finding=finding), suggestions=better,
                     query=query))
    ).text  # fmt: skip
    for said in ("No better source was found", "No other source"):
        assert not (suggests and said in shown)
    assert ("Better one" in shown) is suggests
    assert ("No better source was found" in shown) <= searched


def test_missing_parts_are_marked_in_the_claim():
    shown = page(verdict("The town flooded in 1962.", "keep", source(-1.0)))
    assert re.search(r'flooded</bdi> <span class="lacks"><bdi>in 1962</bdi></span>', shown)


def test_policy_allows_only_the_own_script():
    shown = page(verdict("A claim.", "keep", source(1.0)))
    assert not re.search(r"src=|@import|url\(|<link|<iframe", shown)
    (script,) = re.findall("<script>(.*?)</script>", shown, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in shown


SCHEMES = st.sampled_from(
    ["javascript:", "JavaScript:", " javascript:", "java\nscript:", "data:text/html,", "vbscript:"]
)


@given(SCHEMES, st.text(max_size=20))
def test_urls_that_run_scripts_are_never_links(scheme, rest):
    hostile = source(1.0, scheme + rest, "")
    shown = page(verdict("A claim.", "keep", hostile))
    assert Links(shown).addresses == []
    assert "<a " not in linked(scheme + rest, "x")


@given(st.text(), st.text(), st.text(min_size=1).filter(str.strip))
def test_hostile_text_adds_no_tags(url, title, text):
    hostile = source(1.0, f"https://a.example/{url}", title)
    claim = verdict(text, "keep", hostile, suggestions=(hostile,), warnings=(text,))
    shown = page(claim, text=text)
    shown.encode("utf-8")
    found = Links(shown)
    for address in found.addresses:
        assert re.match(r"https?://", address)
        assert not re.search(r"[\s\"'<>]", address)
    assert not {name for name in found.names if name.startswith("on")}
    usual = Reader(page(verdict("c", "keep", source(1.0), suggestions=(source(1.0),))))
    variable = {"span", "bdi", "a", "p", "strong"}  # their number depends on what is empty
    assert [t for t in Reader(shown).tags if t not in variable] == [
        t for t in usual.tags if t not in (variable | {"p"})
    ]


def test_a_url_with_quotes_cannot_leave_its_attribute():
    assert linked('https://a.example/"onclick="x', "t").startswith("<bdi>")
    assert linked("https://a.example/?a=1&b=2", "t").startswith(
        '<a href="https://a.example/?a=1&amp;b=2" rel="noreferrer noopener">'
    )
