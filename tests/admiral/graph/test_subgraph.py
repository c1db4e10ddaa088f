"""GraphRetrieve and its baselines, against the algorithm as the paper states it."""

import json
from itertools import combinations
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.graph import NeighbourhoodFinder, claim_network, subgraph, to_networkx, write_network
from admiral.graph.subgraph import (
    MAX_BETWEEN,
    MAX_FOUND,
    MAX_NAMED,
    METHODS,
    SubgraphOptions,
    graph_retrieve,
)
from tests.admiral.graph.conftest import DOCUMENTS, ROWS
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
        (SubgraphOptions(hops=2, owner=False, variant="paths"), [0, 1, 4]),
        # The page itself mentions both named documents, so each of its sentences connects it.
        (SubgraphOptions(hops=2, owner=True, variant="paths"), [0, 1, 2, 4]),
        (SubgraphOptions(hops=2, owner=True), [0, 1, 2, 3, 4]),
    ],
)
def test_the_sentences_of_a_path(options, frames):
    assert graph_retrieve(PATH.build(), np.array([0, 1]), options).tolist() == frames


@pytest.fixture
def finder(kb, graph):
    return NeighbourhoodFinder(kb, graph)


def test_roles_edges_and_paths(finder):
    around = finder.around("Ridley Scott made Alien.", ["Alien (film)", "London", "Nowhere"])
    roles = {each.title: each.role for each in around.documents}
    # "Alien" names two documents, of which the one that was found is meant.
    assert roles == {"Ridley Scott": "named", "Alien (film)": "named", "London": "found"}
    titles = [each.title for each in around.documents]
    edges = {(titles[e.source], titles[e.target]): e.sentence for e in around.edges}
    assert set(edges) == {("Ridley Scott", "London"), ("Alien (film)", "Ridley Scott")}
    assert edges["Ridley Scott", "London"].text == "He lives in London."
    ((one, other, path),) = around.paths
    assert (one, other, path.between) == ("Alien (film)", "London", "Ridley Scott")


def test_a_document_between_two_others(finder):
    around = finder.around("It is so.", ["Ridley Scott", "<script>\u202e"])
    assert [(each.title, each.role) for each in around.documents] == [
        ("London", "between"),
        ("Ridley Scott", "found"),
        ("<script>\u202e", "found"),
    ]


def test_edges_equal_those_of_a_slow_search(finder, graph):
    everything = [document["title"] for document in DOCUMENTS]
    around = finder.around("Nothing.", everything)
    titles = [each.title for each in around.documents]
    assert len(titles) <= MAX_NAMED + MAX_BETWEEN + MAX_FOUND
    found = {(titles[e.source], titles[e.target]) for e in around.edges}
    frames = {title: graph.frames_of(np.array([ROWS[title]]))[1] for title in titles}
    expected = {
        (one, other)
        for one in titles
        for other in titles
        if one != other and ROWS[other] in graph.entities_in(frames[one]).values.tolist()
    }
    assert found == expected


def test_documents_and_what_they_mention(kb, graph):
    network = to_networkx(kb, graph)
    assert list(network) == list(kb.titles())
    assert network.nodes["London"] == {"row": 3, "sentences": 1, "mentions": 3}
    assert network.nodes["Thames"] == {"row": 4, "sentences": 0, "mentions": 1}
    edges = {(u, v): data for u, v, data in network.edges(data=True) if "Hostile" not in u}
    assert edges["Ridley Scott", "London"] == {"sentences": 1, "links": 0, "weight": 1.0}
    # A hyperlink, and a name with two readings.
    assert edges["Alan Dean Foster", "Alien (novel)"] == {"sentences": 2, "links": 1, "weight": 1.5}
    assert ("London", "London") not in edges
    assert not network.has_edge("Thames", "London")


def test_the_network_of_a_claim(kb, graph):
    network = claim_network(kb, graph, "Ridley Scott lives there.", 3)
    assert len(network) == 3
    assert network.nodes["Ridley Scott"]["seed"] > 0
    assert network.nodes["Ridley Scott"]["score"] > network.nodes["London"]["score"] > 0
    assert network.nodes["London"]["seed"] == 0
    assert len(claim_network(kb, graph, "zzz", 3)) == 0


def test_too_many_documents(kb, graph, monkeypatch):
    monkeypatch.setattr(subgraph, "MAX_DOCUMENTS", 3)
    with pytest.raises(AdmiralError, match=r"8 documents are too many .* around a claim"):
        to_networkx(kb, graph)
    assert len(claim_network(kb, graph, "Ridley Scott lives in London.", 100)) == 3


def test_files(kb, graph, tmp_path):
    network = to_networkx(kb, graph)
    write_network(network, tmp_path / "graph.json", "node-link")
    data = json.loads((tmp_path / "graph.json").read_text())
    assert nx.utils.graphs_equal(nx.node_link_graph(data, edges="edges"), network)
    write_network(network, tmp_path / "graph.graphml", "graphml")
    read = nx.read_graphml(tmp_path / "graph.graphml", node_type=int)
    assert [node["label"] for node in read.nodes.values()] == list(network)
    assert read.number_of_edges() == network.number_of_edges()
    with pytest.raises(AdmiralError, match="cannot be written"):
        write_network(network, tmp_path / "no" / "graph.graphml", "graphml")


# Markup, marks that change the direction of writing, and characters that XML does not have.
_TITLES = st.text(st.sampled_from("<>&\"'\u202e\ufffe\uffff\x1b]A\u2028é\U0001f600"), min_size=1)


@given(st.lists(_TITLES, max_size=4))
def test_graphml_of_any_titles_is_well_formed(tmp_path_factory, titles):
    network = nx.DiGraph()
    for row, title in enumerate(titles):
        network.add_node(title, row=row, sentences=0, mentions=0)
    path = tmp_path_factory.mktemp("graphml") / "graph.graphml"
    write_network(network, path, "graphml")
    root = ElementTree.parse(path).getroot()
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {
        "graphml",
        "key",
        "graph",
        "node",
        "data",
    }
    assert len(root.findall(".//{*}node")) == len(network)
