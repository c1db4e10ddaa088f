"""Candidates from the graph: those around the claim and around the evidence."""

import shutil

import pytest

from admiral.errors import AdmiralError
from admiral.graph import GraphCandidates, graph_to_use
from admiral.kb import KnowledgeBase
from admiral.records import Proximity, Sentence
from admiral.retrieval.document_ranking import MIN_PROXIMITY


def test_the_evidence_leads_to_the_documents_that_mention_it_and_is_left_out(kb, graph):
    candidates = GraphCandidates(kb, graph)
    evidence = [Sentence("Thames", 0, ""), Sentence("Thames", 1, "")]
    around_claim, around_evidence = candidates.rank(["zzz", "zzz"], [[], evidence], 3)
    assert around_claim == []  # no name, and no word that BM25 knows
    assert around_evidence[0] == "London"
    assert "Thames" not in around_evidence
    assert candidates.rank(["zzz"], [evidence], 1) == [["London"]]


def test_proximity_to_the_evidence(kb, graph):
    candidates = GraphCandidates(kb, graph)
    titles = ["London", "Thames", "Ridley Scott", "Alien (novel)", "Nowhere"]
    evidence = [Sentence("Thames", 0, ""), Sentence("London", 0, "")]
    (near,) = candidates.proximity(["zzz"], [evidence], [titles])
    assert set(near) == set(titles[:-1])
    assert near["Alien (novel)"].arrivals < near["Ridley Scott"].arrivals
    assert near["Ridley Scott"].arrivals < near["London"].arrivals < 0
    shares = {title: each.mentions for title, each in near.items()}
    assert shares == {"London": 0.5, "Thames": 0, "Ridley Scott": 0.5, "Alien (novel)": 0}
    (far,) = candidates.proximity(["zzz"], [[]], [titles])  # a walk from nowhere
    assert set(far.values()) == {Proximity(MIN_PROXIMITY, 0.0)}


def test_a_seed_is_near_only_if_another_document_leads_to_it(kb, graph):
    candidates = GraphCandidates(kb, graph)
    claim = "Ridley Scott directed it near the Thames."
    (near,) = candidates.proximity([claim], [[]], [["Ridley Scott", "Thames", "The"]])
    assert near["Ridley Scott"].arrivals > MIN_PROXIMITY
    assert near["Thames"].arrivals > MIN_PROXIMITY
    assert near["The"].arrivals == MIN_PROXIMITY


def test_evidence_that_the_knowledge_base_lacks_is_ignored(kb, graph):
    candidates = GraphCandidates(kb, graph)
    claim = "Ridley Scott lives in London."
    assert candidates.rank([claim], [[Sentence("Nowhere", 0, "")]], 9) == candidates.rank(
        [claim], [[]], 9
    )


def test_a_missing_graph_is_used_only_if_it_is_asked_for(kb_path):
    shutil.rmtree(kb_path / "graph", ignore_errors=True)
    with KnowledgeBase.open(kb_path) as kb:
        assert graph_to_use(kb, "auto") is None
        assert graph_to_use(kb, "false") is None
        with pytest.raises(AdmiralError, match="graph build"):
            graph_to_use(kb, "true")


def test_a_graph_that_is_there_is_used_unless_the_setting_is_false(kb):
    assert graph_to_use(kb, "auto") is not None
    assert graph_to_use(kb, "true") is not None
    assert graph_to_use(kb, "false") is None


def test_a_damaged_graph_is_an_error_or_a_warning(kb, caplog):
    manifest = next((kb.path / "graph").glob("*.json"))
    manifest.write_text("{}")
    with pytest.raises(AdmiralError, match="graph"):
        graph_to_use(kb, "true")
    assert not caplog.records
    assert graph_to_use(kb, "auto") is None
    assert "graph build" in caplog.text
    shutil.rmtree(kb.path / "graph")
