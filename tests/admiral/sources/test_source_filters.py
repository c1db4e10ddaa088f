"""Wikipedia, its mirrors, copies and blocked sites are left out; other sources are not."""

import pytest

from admiral.errors import AdmiralError
from admiral.sources.source_filter import SourceFilter, is_copy

CONTEXT = (
    "The tower was built in 1889 for a world fair, and was the tallest building for four decades. "
    "Its engineer had also built bridges and the frame of a statue in a harbour overseas. Today it "
    "is the most visited monument of the city that one has to pay for."
)
OTHER = (
    "An engineer who had built bridges put up the tower for the fair of 1889. Nothing taller was "
    "built until the thirties, and nowadays more people pay to visit it than any other sight."
)


@pytest.mark.parametrize(
    "url",
    [
        "https://en.wikipedia.org/wiki/Tower",
        "http://en.m.wikipedia.org/wiki/Tower",
        "https://www.wikiwand.com/en/Tower",
        "https://web.archive.org/web/2019/https://de.wikipedia.org/wiki/Turm",
        "http://dbpedia.org/page/Tower",
    ],
)
def test_wikipedia_and_mirrors(url):
    assert SourceFilter().blocks(url, "", "")


@pytest.mark.parametrize(
    "url", ["https://notwikipedia.org/", "https://x.example/wikipedia.org", "wice:dev1", ""]
)
def test_other_sites(url):
    assert not SourceFilter().blocks(url, OTHER, CONTEXT)


def test_copies_of_the_page_are_left_out_wherever_they_are():
    assert is_copy(f"Menu. {CONTEXT.upper()} Imprint.", CONTEXT)
    assert not is_copy(OTHER, CONTEXT)
    assert SourceFilter().blocks("https://mirror.example/", CONTEXT, CONTEXT)


def test_blocked_sites(tmp_path):
    sites = tmp_path / "sites.txt"
    sites.write_text("# Blogs\nblogs.example\n\n")
    blocking = SourceFilter(str(sites))
    assert blocking.blocks_url("http://me.blogs.example/post")
    assert blocking.blocks_url("https://www.blogs.example")
    assert blocking.blocks_url("https://en.wikipedia.org/wiki/Blog")
    assert not blocking.blocks_url("http://goodblogs.example/post")
    for bad in ("https://blogs.example/", "Blogs.example"):
        sites.write_text(f"fine.example\n{bad}\n")
        with pytest.raises(AdmiralError, match=r"sites\.txt:2: .* is not a host"):
            SourceFilter(str(sites))
