"""Candidates from the graph: those around the claim and around the evidence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.graph import GraphCandidates, MentionGraph, open_graph_candidates
from admiral.kb import KnowledgeBase
from admiral.records import Sentence


def test_the_evidence_leads_to_the_documents_that_mention_it_and_is_left_out(
    kb: KnowledgeBase, graph: MentionGraph
) -> None:
    candidates = GraphCandidates(kb, graph)
    evidence = [Sentence("Thames", 0, ""), Sentence("Thames", 1, "")]
    around_claim, around_evidence = candidates.rank(["zzz", "zzz"], [[], evidence], 3)
    assert around_claim == []  # no name, and no word that BM25 knows
    assert around_evidence[0] == "London"
    assert "Thames" not in around_evidence
    assert candidates.rank(["zzz"], [evidence], 1) == [["London"]]


def test_evidence_that_the_knowledge_base_lacks_is_ignored(
    kb: KnowledgeBase, graph: MentionGraph
) -> None:
    candidates = GraphCandidates(kb, graph)
    claim = "Ridley Scott lives in London."
    assert candidates.rank([claim], [[Sentence("Nowhere", 0, "")]], 9) == candidates.rank(
        [claim], [[]], 9
    )


def test_a_missing_graph_is_an_error_that_names_the_remedy(kb_path: Path) -> None:
    shutil.rmtree(kb_path / "graph", ignore_errors=True)
    with KnowledgeBase.open(kb_path) as kb, pytest.raises(AdmiralError, match="graph build"):
        open_graph_candidates(kb)


def test_a_damaged_graph_is_an_error(kb: KnowledgeBase) -> None:
    manifest = next((kb.path / "graph").glob("*.json"))
    manifest.write_text("{}")
    with pytest.raises(AdmiralError, match="graph"):
        open_graph_candidates(kb)
    shutil.rmtree(kb.path / "graph")
