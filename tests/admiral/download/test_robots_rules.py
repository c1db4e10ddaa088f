"""The rules of robots.txt, as RFC 9309 has them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.download.page_fetch import robots_rules

RULES = """\ufeff# A comment
User-agent: OtherBot/2.0
Disallow: /

User-agent: *
Disallow: /private   # not for robots
Allow: /private/open
Disallow: /*?print=
Disallow: /*.zip$
Disallow: /caf%C3%A9
Crawl-delay: 2.5
Sitemap: https://example.org/map.xml
"""


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/", True),
        ("/private", False),
        ("/private/x", False),
        ("/private/open/x", True),
        ("/page?print=1", False),
        ("/page?x=1", True),
        ("/a.zip", False),
        ("/a.zip.html", True),
        ("/caf\u00e9", False),
        ("/caf%c3%a9/menu", False),
        ("/robots.txt", True),
        ("", True),
    ],
)
def test_the_longest_rule_counts(target, allowed):
    assert robots_rules(RULES, "admiral").allows(target) is allowed


@pytest.mark.parametrize("text", ["", "Disallow: /", "User-agent: *\nDisallow:", "<html>x</html>"])
def test_without_rules_all_is_allowed(text):
    assert robots_rules(text, "admiral").allows("/x")


@given(st.text(), st.text())
def test_any_file_can_be_read(text, target):
    robots_rules(f"user-agent: *\ndisallow: {text}\n{text}", "admiral").allows(target)


def test_time_is_bounded():
    rules = robots_rules(f"User-agent: *\nDisallow: /{'*a' * 2000}b$", "admiral")
    start = time.process_time()
    assert rules.allows("/" + "a" * 20_000)
    assert time.process_time() - start < 1
