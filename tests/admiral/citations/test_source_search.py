"""Retrieval of sources for claims: queries, page ranks, fusion and filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_records import CitedClaim
from admiral.citations.source_search import SourceSearch, reciprocal_rank_fusion
from admiral.sources import Passage, ScoredPassage, Source
from admiral.sources.open_sources import Sources
from admiral.sources.source_indexing import build_sources
from tests.admiral.kb.fake_encoder import FakeEncoder

CLAIM = CitedClaim(
    id="1",
    claim="It was built in 1889.",
    page="Eiffel Tower",
    section=("History", "Origin"),
    before="The tower is in Paris. An engineer designed it.",
)


_RANKINGS = st.lists(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.integers(0, 3), st.sampled_from([1.0, 2.0, 3.0])),
        max_size=12,
    ),
    min_size=1,
    max_size=3,
)


def ranking(triples):
    scored = sorted(triples, key=lambda triple: -triple[2])
    return [
        ScoredPassage(Passage(f"http://{url}.example/", url, number, 0, 1, "x"), score)
        for url, number, score in scored
    ]


@given(_RANKINGS)
def test_page_ranks_and_fusion_are_those_of_the_definition(triples):
    rankings = [ranking(each) for each in triples]
    orders = []
    for found in rankings:
        pages = []
        for scored in found:
            if scored.passage.url not in pages:
                pages.append(scored.passage.url)
        orders.append(pages)
    sums = {
        url: sum(1 / (61 + order.index(url)) for order in orders if url in order)
        for order in orders
        for url in order
    }
    fused = reciprocal_rank_fusion(rankings)
    assert {s.passage.url: s.score for s in fused} == pytest.approx(sums)
    assert [s.score for s in fused] == sorted((s.score for s in fused), reverse=True)


MIRROR = f"{CLAIM.before} {CLAIM.claim} {' '.join(f'word{n}' for n in range(40))}"
SOURCES = [
    Source("https://en.wikipedia.org/wiki/Eiffel_Tower", "Eiffel Tower", MIRROR),
    Source("https://mirror.example/tower", "Eiffel Tower", MIRROR),
    Source("https://news.example/1889", "The tower of Eiffel", "In 1889 it was built in Paris."),
    Source("https://news.example/bridge", "A bridge", "A bridge was built in London."),
]
COPIED = CitedClaim(
    id="1",
    claim=CLAIM.claim,
    page=CLAIM.page,
    before=CLAIM.before,
    after=MIRROR[len(CLAIM.before) :],
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "kb"
    build_sources(SOURCES, path, encoder=FakeEncoder())
    return path


def test_wikipedia_and_copies_are_not_suggested(kb):
    with Sources.open(kb) as opened:
        search = SourceSearch(opened, sparse=opened)
        ((_, found),) = search.search([COPIED], 10)
        assert [s.passage.url for s in found] == [SOURCES[2].url, SOURCES[3].url]
        for source, blocked in zip(SOURCES, (True, True, False, False), strict=True):
            assert search.blocks(COPIED, source.url) == blocked
        assert not search.blocks(COPIED, "https://unknown.example/")


def test_sparse_and_dense_rankings_are_fused(kb):
    with Sources.open(kb) as opened:
        dense = opened.dense(FakeEncoder())
        bridge = CitedClaim(id="3", claim="zebra")
        assert SourceSearch(opened, sparse=opened).search([bridge], 5) == [("zebra", [])]
        search = SourceSearch(opened, sparse=opened, dense=dense)
        ((_, found),) = search.search([bridge], 5)
        assert {s.passage.url for s in found} == {s.url for s in SOURCES[1:]}
        ((query, best), (titled, _)) = search.search([bridge, COPIED], 2)
        assert query == "zebra"
        assert titled == "Eiffel Tower It was built in 1889."
        assert best == found[:2]
