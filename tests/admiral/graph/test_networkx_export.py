"""Export to NetworkX, GraphML and node-link JSON."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.graph import claim_network, networkx_export, to_networkx, write_network


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


def test_a_part_of_the_graph(kb, graph):
    whole, part = to_networkx(kb, graph), to_networkx(kb, graph, np.array([3, 0, 3, 1]))
    kept = ["Ridley Scott", "Alien (film)", "London"]
    assert nx.utils.graphs_equal(part, whole.subgraph(kept))
    assert len(to_networkx(kb, graph, np.array([], dtype=np.int64))) == 0


def test_the_network_of_a_claim(kb, graph):
    network = claim_network(kb, graph, "Ridley Scott lives there.", 3)
    assert len(network) == 3
    assert network.nodes["Ridley Scott"]["seed"] > 0
    assert network.nodes["Ridley Scott"]["score"] > network.nodes["London"]["score"] > 0
    assert network.nodes["London"]["seed"] == 0
    assert len(claim_network(kb, graph, "zzz", 3)) == 0


def test_too_many_documents(kb, graph, monkeypatch):
    monkeypatch.setattr(networkx_export, "MAX_DOCUMENTS", 3)
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
    with pytest.raises(AdmiralError, match="format 'dot'"):
        write_network(network, tmp_path / "graph.dot", "dot")
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


def test_importing_the_package_does_not_import_networkx():
    script = "import sys, admiral.graph; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
