"""Where sources are looked for, and what is kept of them."""

from __future__ import annotations

import asyncio

import pytest

from admiral.download.page_fetch import FetchError, FetchLimits, PageFetcher
from admiral.download.source_fetch import FetchedPages, WantedSource, candidates, fetch_sources
from admiral.sources.source_files import SourceFiles
from tests.admiral.download.local_site import Answer, moved, page, serving

URL = "https://a.example/1"
COPY = f"https://web.archive.org/web/20100203040506/{URL}"


@pytest.fixture
def site():
    with serving() as started:
        yield started


def fetch(folder, site, *sources, **options):
    async def run():
        async with PageFetcher(FetchLimits(5, 1, 0), [site.host]) as fetcher:
            return await fetch_sources(sources, fetcher, FetchedPages(folder), **options)

    return asyncio.run(run())


def test_copies_come_first_then_the_page_then_the_archive():
    assert candidates(WantedSource(URL)) == [URL]
    assert candidates(WantedSource(URL, COPY)) == [COPY.replace("/https", "id_/https"), URL]
    archive = "https://archive.example/{date}/{url}"
    dated = WantedSource(URL, date="20190504")
    assert candidates(dated, archive) == [URL, f"https://archive.example/20190504/{URL}"]
    assert candidates(WantedSource(URL), archive)[-1] == f"https://archive.example/2/{URL}"


def test_each_is_tried_until_one_is_found(site, tmp_path):
    site.answers |= {"/live": page("Live."), "/copy": page("Copy.")}
    site.answers[f"/archive/{site.url('/gone')}"] = page("Old.")
    first, second, third, fourth = fetch(
        tmp_path / "f",
        site,
        WantedSource(site.url("/live"), site.url("/copy")),
        WantedSource(site.url("/live"), site.url("/missing")),
        WantedSource(site.url("/gone")),
        WantedSource(site.url("/nowhere")),
        archive=site.url("/archive/{url}"),
        jobs=1,
    )
    assert first.page.url == site.url("/copy")
    assert second.page.url == site.url("/live")
    assert b"Old." in third.page.content
    assert fourth.error.problem == "not_found"


def test_pages_are_sources_of_the_cited_address(site, tmp_path):
    site.answers |= {
        "/copy": page("It rained for three days, and the town was flooded.", "Rain"),
        "/text": Answer("Café\nIt snowed.".encode("latin-1"), "text/plain; charset=latin-1"),
        "/moved": moved("/text"),
    }
    fetch(
        tmp_path / "f",
        site,
        WantedSource(site.url("/live"), site.url("/copy")),
        WantedSource(site.url("/moved")),
    )
    pages = FetchedPages(tmp_path / "f")
    (archive,) = pages.not_added()
    rain, snow = sorted(SourceFiles([archive]), key=lambda source: source.url)
    assert (rain.url, rain.title) == (site.url("/live"), "Rain")
    assert rain.archive_url == site.url("/copy")
    assert "the town was flooded" in rain.text
    assert (snow.url, snow.title, snow.archive_url) == (
        *(site.url("/moved"), "Café", site.url("/text")),
    )
    pages.note_added()
    assert pages.not_added() == []
    pages = FetchedPages(tmp_path / "f")
    assert pages.not_added() == []


def test_what_failed_for_good_is_known_the_next_time(site, tmp_path):
    site.answers["/busy"] = Answer(status=503)
    urls = [site.url(path) for path in ("/gone", "/busy", "/later")]
    fetch(tmp_path / "f", site, *map(WantedSource, urls))
    pages = FetchedPages(tmp_path / "f")
    assert "404" in pages.problem(urls[0])
    assert pages.problem(urls[1]) == ""
    site.answers["/later"] = page("x")
    fetch(tmp_path / "f", site, WantedSource(urls[2]))
    pages = FetchedPages(tmp_path / "f")
    assert pages.problem(urls[2]) == ""


def test_a_machine_that_is_offline_asks_for_few_pages(site, tmp_path):
    sources = [WantedSource(f"http://host-{n}.invalid/") for n in range(30)]
    outcomes = fetch(tmp_path / "f", site, *sources, jobs=2)
    assert {each.error.problem for each in outcomes} == {"offline"}
    assert len(outcomes) <= 7
    site.answers["/a"] = page("x")
    reached = fetch(tmp_path / "f", site, WantedSource(site.url("/a")), *sources, jobs=1)
    assert len(reached) == 31


def test_a_killed_run_loses_nothing_but_its_last_page(site, tmp_path):
    folder = tmp_path / "f"
    site.answers |= {f"/{n}": page(f"It rained {n} times in the long year.") for n in range(4)}
    fetch(folder, site, *(WantedSource(site.url(f"/{n}")) for n in range(3)), jobs=1)
    archive = folder / "pages-1.warc.gz"
    archive.write_bytes(archive.read_bytes()[:-40])
    outcomes = folder / "outcomes.jsonl"
    outcomes.write_bytes(outcomes.read_bytes()[:-15])
    fetch(folder, site, WantedSource(site.url("/3")))
    pages = FetchedPages(folder)
    found = [source.url for source in SourceFiles(pages.not_added(), skip_bad=True)]
    assert found == [site.url(f"/{n}") for n in (0, 1, 3)]
    pages.note(URL, FetchError("not_found", "gone"))
    pages = FetchedPages(folder)
    assert pages.problem(URL) == "gone"
