"""GraphRetrieve and its baselines, against the algorithm as the paper states it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.graph.subgraph import METHODS, SubgraphOptions, graph_retrieve
from tests.admiral.graph.random_graphs import SmallGraph, small_graphs


def slow_graph_retrieve(small, named, options):
    entities = [
        set(mentions) | ({page} if options.owner else set()) for page, mentions in small.frames
    ]
    out = {number for number, (page, _) in enumerate(small.frames) if page in named}
    near = {}
    for u in named:
        for mentioned in entities:
            if u in mentioned:
                for v in mentioned - {u}:
                    near.setdefault(v, set()).add(u)
    keep = set(named)
    if options.hops == 2:
        keep |= {v for v, neighbours in near.items() if len(neighbours) >= 2}
    for u in named:
        for number, mentioned in enumerate(entities):
            if u in mentioned and (mentioned - {u}) & keep:
                out.add(number)
    if options.variant == "induced":
        for u, v in combinations(sorted(keep), 2):
            out |= {n for n, mentioned in enumerate(entities) if {u, v} <= mentioned}
    return out


OPTIONS = st.builds(
    SubgraphOptions,
    hops=st.sampled_from([1, 2]),
    variant=st.sampled_from(["paths", "induced"]),
    owner=st.booleans(),
)


@given(small_graphs(), st.sets(st.integers(0, 8), max_size=5), OPTIONS)
def test_the_fast_subgraph_equals_the_slow_one(small, named, options):
    named = {row for row in named if row < len(small.pages)}
    found = graph_retrieve(small.build(), np.array(sorted(named), dtype=np.int64), options)
    assert found.tolist() == sorted(slow_graph_retrieve(small, named, options))


@given(small_graphs(), st.sets(st.integers(0, 8), max_size=5), OPTIONS)
def test_the_baselines_equal_their_definitions(small, named, options):
    named = {row for row in named if row < len(small.pages)}
    own = {n for n, (page, _) in enumerate(small.frames) if page in named}
    mention = {n for n, (_, mentioned) in enumerate(small.frames) if named & set(mentioned)}
    graph, rows = small.build(), np.array(sorted(named), dtype=np.int64)
    found = {name: set(method(graph, rows, options).tolist()) for name, method in METHODS.items()}
    assert found["entity"] == own
    assert found["mention"] == mention
    assert found["entity+mention"] == own | mention
    if options.variant == "paths":
        assert own <= found["graph"] <= own | mention


# Rows 0 and 1 are named; 2 lies between them, 3 and 4 beside it; page 5 mentions them.
PATH = SmallGraph(
    [[], [], [], [], [], [{0: 1, 2: 1}, {1: 1, 2: 1}, {0: 1, 3: 1}, {2: 1, 4: 1}, {0: 1, 1: 1}]]
)


@pytest.mark.parametrize(
    ("options", "frames"),
    [
        (SubgraphOptions(hops=1, owner=False), [4]),
        (SubgraphOptions(hops=2, owner=False), [0, 1, 4]),
        # The page itself mentions both named documents, so each of its sentences connects it.
        (SubgraphOptions(hops=2, owner=True), [0, 1, 2, 4]),
        (SubgraphOptions(hops=2, owner=True, variant="induced"), [0, 1, 2, 3, 4]),
    ],
)
def test_the_sentences_of_a_path(options, frames):
    assert graph_retrieve(PATH.build(), np.array([0, 1]), options).tolist() == frames


def test_one_document_or_none():
    graph = SmallGraph([[{}, {1: 1}], [{0: 1}]]).build()
    assert graph_retrieve(graph, np.array([0])).tolist() == [0, 1]
    for method in METHODS.values():
        assert method(graph, np.array([], dtype=np.int64), SubgraphOptions()).tolist() == []


def test_an_entity_with_100_000_mentions():
    """Row 0 is mentioned everywhere, by itself but for two sentences with row 1."""
    common, both = {0: 1}, {0: 1, 1: 1}
    graph = SmallGraph([[], [], [common] * 99_998 + [both] * 2]).build()
    options = SubgraphOptions(owner=False)
    named = np.array([0, 1])
    assert graph_retrieve(graph, named, options).tolist() == [99_998, 99_999]
    assert len(METHODS["mention"](graph, named, options)) == 100_000


def test_bad_options():
    with pytest.raises(AdmiralError, match="hops: 3"):
        SubgraphOptions(hops=3)
    with pytest.raises(AdmiralError, match="variant 'all'"):
        SubgraphOptions(variant="all")
