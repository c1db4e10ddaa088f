"""Entities of claims, sets and rankings for claims, and connections of titles."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.graph import (
    ClaimSubgraph,
    Entity,
    EntityLinker,
    GraphRanker,
    MentionGraph,
    PageRankParameters,
    build_graph,
    connections,
)
from admiral.kb import KnowledgeBase, UnknownTitleError, build
from tests.admiral.graph.conftest import ROWS

CLAIM = "Ridley Scott made Alien, the Alien of 1979."


def test_entities_with_their_readings(kb):
    film, novel, scott = ROWS["Alien (film)"], ROWS["Alien (novel)"], ROWS["Ridley Scott"]
    assert EntityLinker(kb).entities(CLAIM) == [
        Entity(scott, "Ridley Scott", 1, 0),
        Entity(film, "Alien (film)", 2, 1),
        Entity(novel, "Alien (novel)", 2, 1),
    ]
    best = EntityLinker(kb, readings=1).entities(CLAIM)
    assert [entity.title for entity in best] == ["Ridley Scott", "Alien (film)"]
    # A name that is certain wins over the same document as a reading.
    certain = EntityLinker(kb).entities("Alien, that is, Alien (film).")
    assert certain == [Entity(film, "Alien (film)", 1, 0), Entity(novel, "Alien (novel)", 2, 0)]


@pytest.mark.parametrize("claim", ["", "nothing here", "The man.", "\ud800 \x00 \u202e"])
def test_claims_that_name_nothing(kb, graph, claim):
    assert EntityLinker(kb).entities(claim) == []
    for method in ("graph", "entity", "mention", "entity+mention"):
        assert ClaimSubgraph(kb, graph).retrieve([], method).tolist() == []


@given(text=st.text())
def test_no_text_breaks_the_linker(names_kb, text):
    rows = {entity.row for entity in EntityLinker(names_kb).entities(text)}
    assert rows <= set(names_kb.rows().tolist())


@pytest.fixture(scope="module")
def names_kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"title": t, "text": ""}) + "\n" for t in ("A", "A (B)", "0", "É!"))
    )
    build([folder / "corpus.jsonl"], folder / "kb", bm25="none", progress=False)
    return KnowledgeBase.open(folder / "kb")


def test_the_filter_of_common_entities(kb, graph):
    subgraph = ClaimSubgraph(kb, graph, max_mentions=2)
    entities = subgraph.entities("Ridley Scott lives in London.")
    assert [(e.title, n) for e, n in subgraph.common(entities)] == [("London", 3)]
    with pytest.raises(AdmiralError, match="names 'London', which 3 sentences mention"):
        subgraph.retrieve(entities)
    assert len(ClaimSubgraph(kb, graph, max_mentions=3).retrieve(entities))
    with pytest.raises(AdmiralError, match="method 'walk': there are"):
        subgraph.retrieve(entities[:1], "walk")


def test_the_walk_finds_what_a_claim_does_not_name(kb, graph):
    parameters = PageRankParameters(bm25_documents=0, tolerance=1e-6)
    ranker = GraphRanker(kb, graph, parameters)
    ranking = ranker.rank("Ridley Scott made it.", 20)
    scores = {document.title: document.score for document in ranking.documents}
    assert next(iter(scores)) == "Ridley Scott"
    assert {"Alien (film)", "London", "Thames"} <= scores.keys()
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert sum(scores.values()) == pytest.approx(1, abs=1e-3)
    best = ranking.sentences[0]
    assert best.text == kb.document(best.title).sentences[best.index]
    assert len({sentence.key for sentence in ranking.sentences}) == len(ranking.sentences)
    assert ranker.rank("Ridley Scott made it.", 2).documents == ranking.documents[:2]
    assert ranker.rank("He saw nothing.", 5).documents == ()


def test_bm25_seeds_what_claims_describe(kb, graph):
    seeds = GraphRanker(kb, graph).seeds("a director who lives there")
    assert ROWS["Ridley Scott"] in seeds
    weight = PageRankParameters().bm25_weight
    assert max(seeds.values()) == weight
    named = GraphRanker(kb, graph).seeds("Ridley Scott")[ROWS["Ridley Scott"]]
    assert named == pytest.approx(weight + 1 / np.log2(2 + 2))


def test_without_a_bm25_index(built, tmp_path):
    build([built / "corpus.jsonl"], tmp_path / "plain", bm25="none", progress=False)
    build_graph(tmp_path / "plain", progress=False)
    with KnowledgeBase.open(tmp_path / "plain") as plain:
        seeds = GraphRanker(plain, MentionGraph.open(plain)).seeds("Ridley Scott")
    assert list(seeds) == [ROWS["Ridley Scott"]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("restart", 0.0), ("restart", 1.0), ("tolerance", 0.0), ("bm25_weight", -1.0)],
)
def test_parameters_are_checked(name, value):
    with pytest.raises(AdmiralError, match=f"{name}: {value} is not"):
        PageRankParameters(**{name: value})


def test_connections_of_two_titles(kb, graph):
    found = connections(kb, graph, "Alien (film)", "London", 10)
    assert (found.direct, found.between) == (0, 1)
    (path,) = found.shown
    assert path.between == "Ridley Scott"
    assert [s.key for s in path.sentences] == [("Alien (film)", 0), ("Ridley Scott", 1)]

    found = connections(kb, graph, "Ridley Scott", "London", 10)
    assert found.direct == 1
    assert found.shown[0].between is None
    assert found.shown[0].sentences[0].key == ("Ridley Scott", 1)
    assert connections(kb, graph, "Ridley Scott", "London", 1).shown == found.shown[:1]


def test_titles_that_nothing_connects(kb, graph):
    for first, second in (("The", "London"), ("London", "London")):
        assert connections(kb, graph, first, second, 10).shown == ()
    with pytest.raises(UnknownTitleError, match="'Paris'"):
        connections(kb, graph, "Paris", "London", 10)
