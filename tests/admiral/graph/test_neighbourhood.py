"""The documents around a claim, and how they connect."""

import pytest

from admiral.graph import NeighbourhoodFinder
from admiral.graph.neighbourhood import MAX_BETWEEN, MAX_FOUND, MAX_NAMED
from tests.admiral.graph.conftest import DOCUMENTS, ROWS


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


def test_a_path_through_a_document_that_was_found_is_left_out(finder):
    around = finder.around("It is so.", ["Alien (film)", "London", "Ridley Scott"])
    assert {(one, other) for one, other, _ in around.paths} == {
        ("Alien (film)", "Ridley Scott"),
        ("London", "Ridley Scott"),
    }


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
    expected = {
        (one, other)
        for one in titles
        for other in titles
        if one != other and ROWS[other] in graph.mentions_in(ROWS[one]).values.tolist()
    }
    assert found == expected


def test_nothing_around_an_unknown_claim(finder):
    around = finder.around("zzz", [])
    assert around.documents == around.edges == around.paths == ()
