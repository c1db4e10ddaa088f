"""The ranks of the benchmark are those of KILT's evaluation."""

from hypothesis import given
from hypothesis import strategies as st

from admiral.library import Passage, ScoredPassage
from benchmarks.citation_retrieval import page_rank

_PAGES = st.sampled_from("abcdef")


def kilt_success(urls, gold, cut):
    """Return whether a gold page is among the first, by KILT's rules: duplicates are removed."""
    distinct = []
    for url in urls:
        if url.strip() not in distinct:
            distinct.append(url.strip())
    return any(page.strip() in distinct[:cut] for page in gold)


@given(st.lists(_PAGES, max_size=15), st.lists(_PAGES, max_size=3), st.integers(1, 6))
def test_page_ranks_are_those_of_kilt(pages, gold, cut):
    urls, golden = ([f"https://{p}.example/x" for p in part] for part in (pages, gold))
    ranking = [
        ScoredPassage(Passage(url, "", number, 0, 1, "x"), float(-number))
        for number, url in enumerate(urls)
    ]
    rank = page_rank(ranking, golden)
    assert (rank is not None and rank <= cut) == kilt_success(urls, golden, cut)
