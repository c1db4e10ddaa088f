"""Canonical URLs: one for each page, and the same one if made canonical again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.sources.canonical_urls import canonical, depth, is_web, names_source

PAGE = "example.org/a/b?id=1&x=2"
SAME_PAGE = [
    "http://example.org/a/b?id=1&x=2",
    "https://www.Example.org:443/a/b/?x=2&id=1#part",
    "//example.org/a/./c/../b?utm_source=mail&id=1&x=2&fbclid=abc",
    "example.org:80/a/b?id=1&x=2",
    " https://user:secret@example.org/a/b?id=1&&x=2\n",
    "https://example.org/%61/b?id=%31&x=2",
    "http://web.archive.org/web/20190801120000/http://example.org/a/b?id=1&x=2",
    "https://archive.org/web/2019/example.org/a/b?id=1&x=2",
    "https://web.archive.org/web/2019id_/http:/web.archive.org/web/2018/example.org/a/b?x=2&id=1",
    "https://archive.ph/2019.08.01-120000/https://example.org/a/b?id=1&x=2",
    "http://webcache.googleusercontent.com/search?q=cache:aBcDeFgHiJkL:"
    "http%3A//example.org/a/b%3Fid%3D1%26x%3D2&hl=en",
]


@pytest.mark.parametrize("url", SAME_PAGE)
def test_one_page_has_one_canonical_url(url):
    assert canonical(url) == PAGE
    assert is_web(url)
    assert depth(url) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("http://example.org/a", "http://example.org/A"),
        ("http://example.org/a", "http://example.com/a"),
        ("http://example.org/a?id=1", "http://example.org/a?id=2"),
        ("http://example.org:8080/", "http://example.org/"),
        ("http://www.com/", "http://com.org/"),
        ("http://archive.ph/AbCdE", "http://archive.ph/AbCdF"),
    ],
)
def test_different_pages_differ(first, second):
    assert canonical(first) != canonical(second)


@pytest.mark.parametrize(
    "url",
    [
        *("", "  ", "http://", "https:///path", "http://exa mple.org/", "http://<script>.org/"),
        *("javascript:alert(1)", "java\nscript:alert(document.cookie)"),
        *(" JavaScript:alert(1)//example.org/", "data:text/html,<script>alert(1)</script>"),
        *("mailto:editor@example.org", "ftp://example.org/file", "file:///etc/passwd"),
        "Smith 2004, p. 12",
    ],
)
def test_other_strings_are_not_of_the_web(url):
    assert not is_web(url)
    assert not names_source(url)
    assert canonical(url) == url.strip()
    assert depth(url) == 0


def test_identifiers_name_sources_without_being_of_the_web():
    assert names_source("wice:dev00012")
    assert names_source("urn:isbn:0451450523")
    assert not is_web("doi:10.1000/182")


def test_hosts_of_a_local_network_stay_hosts():
    assert canonical("http://localhost:8000/a/") == "//localhost:8000/a"
    assert is_web("//localhost:8000/a")


def test_hosts_in_any_script_are_the_same_as_in_ascii():
    assert canonical("http://BÜCHER.example/straße") == canonical(
        "https://xn--bcher-kva.example/stra%c3%9fe/"
    )
    assert canonical("http://under_score.example/") == "under_score.example"
    assert canonical("http://[2001:DB8::1]:80/a") == "[2001:db8::1]/a"


def test_depth_counts_path_elements():
    assert depth("http://example.org") == depth("http://example.org/?q=a/b/c") == 0
    assert depth("http://example.org//a//b.html#c/d") == 2


_PIECES = st.sampled_from(
    [
        *("http://", "https:", "//", "/", "www.", "example", ".org", ".", "..", ":", ":80", "?"),
        *("&", "=", "#", "%", "%2e", "%2F", "%C3", "é", "ß", " ", "\n", "@", "[", "]", "::1", "a"),
        *("web.archive.org/web/2010/", "archive.is/2015/", "utm_source", "q=cache:", "xn--"),
        *("webcache.googleusercontent.com/search?", "javascript:", "\\", "+", ";", "\ud800", "。"),
    ]
)


@given(st.one_of(st.lists(_PIECES, max_size=12).map("".join), st.text(max_size=40)))
def test_canonical_is_idempotent(url):
    once = canonical(url)
    assert canonical(once) == once
    if is_web(url):
        assert is_web(once)
        assert depth(once) == depth(url)
        assert "javascript:" not in once.partition("/")[0]
