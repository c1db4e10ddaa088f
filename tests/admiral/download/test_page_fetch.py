"""Fetching from a site on this machine: redirects, bombs, slow answers, wrong types, robots."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
import zlib
from itertools import pairwise

import pytest

from admiral.download.page_fetch import FetchError, FetchLimits, PageFetcher
from tests.admiral.download.local_site import Answer, bomb, moved, page, serving, zipped

QUICK = FetchLimits(seconds=5, megabytes=1, delay=0)
PDF = b"%PDF-1.7 and so on"


@pytest.fixture
def site():
    with serving() as started:
        yield started


def fetch(site, *paths, limits=QUICK, allowed=None):
    """Return the pages at some paths, or the problem of the first that has one."""

    async def run():
        async with PageFetcher(limits, [site.host] if allowed is None else allowed) as fetcher:
            return [
                await fetcher.fetch(path if "://" in path else site.url(path)) for path in paths
            ]

    try:
        return asyncio.run(run())
    except FetchError as error:
        return error.problem


def test_a_page(site):
    site.answers["/a?b=c"] = page("It rained.")
    (got,) = fetch(site, site.url("/a?b=c#part").replace("://", "://ann:secret@"))
    assert got.content_type == "text/html; charset=utf-8"
    assert b"It rained." in got.content
    assert site.asked == ["/robots.txt", "/a?b=c"]
    assert site.headers[1]["host"] == site.host
    assert site.headers[1]["user-agent"].startswith("admiral/")
    assert "authorization" not in site.headers[1]


def test_no_cookies_are_kept(site):
    site.answers["/a"] = page("x")
    site.answers["/a"].headers["Set-Cookie"] = "a=b; Path=/"
    fetch(site, "/a", "/a")
    assert all("cookie" not in headers for headers in site.headers)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(site, status):
    site.answers |= {"/a": moved("b/c", status), "/b/c": moved("//" + site.host + "/d"),
                     "/d": page("x")}  # fmt: skip
    (got,) = fetch(site, "/a")
    assert got.url == site.url("/d")


@pytest.mark.parametrize("to", ["file:///etc/passwd", "javascript:alert(1)", "ftp://x/y"])
def test_redirects_to_what_is_not_of_the_web(site, to):
    site.answers["/a"] = moved(to)
    assert fetch(site, "/a") == "not_a_page"


def test_private_addresses_are_refused_also_behind_redirects(site):
    site.answers |= {"/a": page("x"), "/b": moved(site.url("/a")), "/robots.txt": Answer(b"")}
    assert fetch(site, "/a", allowed=[]) == "private_address"
    assert site.asked == []
    named = f"http://localhost:{site.port}/b"
    assert fetch(site, named, allowed=["localhost"]) == "private_address"
    assert site.asked == ["/robots.txt", "/b"]


def test_private_addresses_are_refused_behind_redirects_of_robots(site):
    site.answers |= {"/a": page("x"), "/robots.txt": moved(site.url("/other"))}
    assert fetch(site, f"http://localhost:{site.port}/a", allowed=["localhost"]) == (
        "private_address"
    )
    assert site.asked == ["/robots.txt"]


def test_a_page_that_redirects_to_the_home_page_is_gone(site):
    site.answers |= {"/a": moved("/"), "/": page("Welcome"), "/c": moved("/?page=3"),
                     "/?page=3": page("x")}  # fmt: skip
    assert fetch(site, "/a") == "home_page"
    assert isinstance(fetch(site, "/"), list)
    assert isinstance(fetch(site, "/c"), list)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
def test_compressed_pages(site, encoding):
    text = b"<html><p>It rained." * 5000
    answer = zipped(text, encoding)
    if encoding == "raw deflate":
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        answer = Answer(
            packer.compress(text) + packer.flush(), headers={"Content-Encoding": "deflate"}
        )
    site.answers["/a"] = answer
    assert fetch(site, "/a")[0].content == text


def test_a_bomb_is_not_unpacked(site):
    site.answers["/a"] = bomb(300)
    tracemalloc.start()
    assert fetch(site, "/a") == "too_large"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * 2**20


def test_a_page_that_is_too_large(site):
    site.answers["/a"] = Answer(b"<html>" + b"a" * 2**20)
    assert fetch(site, "/a") == "too_large"
    assert isinstance(fetch(site, "/a", limits=FetchLimits(5, 2, 0)), list)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>x", seconds=0.2, pieces=7),
        Answer(b"<html>x", head_seconds=0.1),
        Answer(b"<html>x", seconds=5),
    ],
)
def test_slow_answers(site, answer):
    site.answers |= {"/a": answer, "/robots.txt": Answer(b"")}
    start = time.monotonic()
    assert fetch(site, "/a", limits=FetchLimits(0.8, 1, 0)) == "too_slow"
    assert time.monotonic() - start < 4


@pytest.mark.parametrize(
    ("kind", "body", "found"),
    [
        ("text/html", b"<p>x", "text/html"),
        ("application/xhtml+xml", b"<p>x", "application/xhtml+xml"),
        ("text/plain; charset=latin-1", b"x", "text/plain; charset=latin-1"),
        ("application/pdf", PDF, "application/pdf"),
        ("text/html", PDF, "application/pdf"),
        ("application/octet-stream", PDF, "application/pdf"),
        ("application/octet-stream", b" <!DOCTYPE html><p>", "text/html"),
        ("application/pdf", b"<html>Sign in", ""),
        ("application/octet-stream", b"\x00\x01", ""),
        ("image/png", b"\x89PNG", ""),
        ("application/json", b"{}", ""),
        ("text/html", b" \n", ""),
    ],
)
def test_types(site, kind, body, found):
    site.answers["/a"] = Answer(body, kind)
    got = fetch(site, "/a")
    assert (got if isinstance(got, str) else got[0].content_type) == (found or "not_a_page")


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        *((404, "not_found"), (410, "not_found"), (401, "refused"), (403, "refused")),
        *((451, "refused"), (204, "refused"), (304, "refused"), (302, "refused")),
        *((429, "too_many_requests"), (500, "server"), (503, "server")),
    ],
)
def test_statuses(site, status, problem):
    site.answers["/a"] = Answer(b"", status=status)
    assert fetch(site, "/a") == problem


ROBOTS = b"User-agent: *\nDisallow: /private\nDisallow: /*?print\n"


def test_rules_for_robots(site):
    site.answers |= {"/robots.txt": Answer(ROBOTS, "text/plain"), "/private/a": page("x"),
                     "/a": page("x"), "/b": moved("/private/a"),
                     "/a?print=1": page("x")}  # fmt: skip
    assert isinstance(fetch(site, "/a", "/a"), list)
    assert site.asked == ["/robots.txt", "/a", "/a"]
    assert fetch(site, "/private/a") == "robots"
    assert fetch(site, "/b") == "robots"
    assert fetch(site, "/a?print=1") == "robots"
    assert "/private/a" not in site.asked


@pytest.mark.parametrize(
    ("robots", "problem"),
    [
        (Answer(status=404), ""),
        (Answer(status=403), ""),
        (Answer(status=500), "robots"),
        (Answer(status=429), "robots"),
        (moved("/rules"), "robots"),
        (moved("/robots.txt"), ""),
        (Answer(b"User-agent: *\nDisallow: /\n" + b"#" * 10**6), "robots"),
        (Answer(b"#" * 10**6 + b"\nUser-agent: *\nDisallow: /\n"), ""),
        (bomb(20), ""),
    ],
)
def test_rules_that_are_missing_or_strange(site, robots, problem):
    site.answers |= {"/robots.txt": robots, "/a": page("x"),
                     "/rules": Answer(b"user-agent: *\ndisallow: /")}  # fmt: skip
    got = fetch(site, "/a")
    assert (got if isinstance(got, str) else "") == problem


def test_requests_to_a_host_wait_for_each_other(site):
    site.answers |= {f"/{n}": page("x") for n in range(4)}

    async def run():
        async with PageFetcher(FetchLimits(5, 1, 0.2), [site.host]) as fetcher:
            await asyncio.gather(*(fetcher.fetch(site.url(f"/{n}")) for n in range(4)))

    asyncio.run(run())
    times = [at for at, path in zip(site.times, site.asked, strict=True) if path != "/robots.txt"]
    assert len(times) == 4
    assert all(after - before >= 0.19 for before, after in pairwise(times))


@pytest.mark.parametrize("url", ["http://[::1", "http://a b/", "http://x:99999/", "gopher://a.b/c",
                                 "http://" + "a" * 5000, "http:///a", "mailto:a@b.c"])  # fmt: skip
def test_what_is_no_address(url):
    with serving() as site:
        assert fetch(site, url if "://" in url else f"{url}://") in ("not_a_page", "offline")


def test_redirects_without_end(site):
    site.answers |= {"/a": moved("/b"), "/b": moved("/a")}
    assert fetch(site, "/a") == "redirects"
    assert len(site.pages()) <= 6


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"not zipped", headers={"Content-Encoding": "gzip"}),
        Answer(b"<html>", length=99),
    ],
)
def test_damaged_answers(site, answer):
    site.answers["/a"] = answer
    assert fetch(site, "/a") == "connection"


def test_an_encoding_that_was_not_asked_for(site):
    site.answers["/a"] = Answer(b"x", headers={"Content-Encoding": "br"})
    assert fetch(site, "/a") == "not_a_page"


def test_hosts_that_do_not_answer():
    with serving() as gone:
        pass
    assert fetch(gone, "/a") == "connection"
    assert fetch(gone, "http://nowhere.invalid/a") == "offline"
