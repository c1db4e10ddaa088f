"""The setting `graph` in retrieval: which weights and stages it chooses."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral, AdmiralError
from admiral.graph import GraphCandidates, personalised_pagerank
from admiral.kb import KnowledgeBase
from admiral.pipeline import graph_to_use
from admiral.records import Proximity, Sentence
from admiral.retrieval.document_ranking import GRAPH_FEATURES, MIN_PROXIMITY, NetworkDocumentScorer
from tests.admiral.graph.random_graphs import SmallGraph, small_graphs


def slow_pagerank(small, seeds, restart, link_weight):
    """Return the exact scores of all rows; a walk ends at documents without edges."""
    rows = len(small.pages)
    frequency = np.zeros(rows)
    for _, mentions in small.frames:
        frequency[list(mentions)] += 1
    steps = np.zeros((rows, rows))
    for page, mentions in small.frames:
        for row, kind in mentions.items():
            if row != page:
                weight = link_weight if kind == 0 else 1 / kind
                steps[page, row] += weight / np.log2(2 + frequency[row])
                steps[row, page] += weight / np.log2(2 + frequency[page])
    totals = steps.sum(axis=1, keepdims=True)
    ends = totals[:, 0] == 0
    steps = np.divide(steps, totals, where=totals > 0, out=np.zeros_like(steps))
    mass, scores = np.zeros(rows), np.zeros(rows)
    mass[list(seeds)] = np.array(list(seeds.values())) / sum(seeds.values())
    for _ in range(400):
        scores += np.where(ends, mass, restart * mass)
        mass = ((1 - restart) * np.where(ends, 0, mass)) @ steps
    return scores


def dense(ranks, rows):
    scores = np.zeros(rows)
    scores[ranks.rows] = ranks.scores
    return scores


WEIGHTS = st.dictionaries(st.integers(0, 8), st.floats(0.01, 2), min_size=1, max_size=4)


@given(
    small_graphs(),
    WEIGHTS,
    st.floats(0.2, 0.9),
    st.sampled_from([1e-1, 1e-3, 1e-7]),
    st.sampled_from([0.0, 0.5, 2.0]),
)
def test_pushing_is_within_its_bound_of_power_iteration(
    small, weights, restart, tolerance, link_weight
):
    rows = len(small.pages)
    seeds = {row % rows: weight for row, weight in weights.items()}
    graph = small.build()
    ranks = personalised_pagerank(
        graph, seeds, restart=restart, tolerance=tolerance, link_weight=link_weight
    )
    exact, scores = slow_pagerank(small, seeds, restart, link_weight), dense(ranks, rows)
    assert (scores <= exact + 1e-9).all()
    assert exact.sum() - scores.sum() == pytest.approx(ranks.residual, abs=1e-9)
    degrees = graph.mentions_within(np.arange(rows)) + graph.frequency(np.arange(rows))
    assert ranks.residual <= tolerance * np.maximum(degrees, 1).sum()
    assert ranks.edges <= 1 / (restart * tolerance)


@given(small_graphs(), WEIGHTS, st.floats(0.2, 0.9))
def test_arrivals_are_what_other_documents_lead_to(small, weights, restart):
    rows = len(small.pages)
    seeds = {row % rows: weight for row, weight in weights.items()}
    ranks = personalised_pagerank(small.build(), seeds, restart=restart, tolerance=1e-9)
    exact = slow_pagerank(small, seeds, restart, 1.0)
    for row, weight in seeds.items():
        alone = slow_pagerank(SmallGraph([[] for _ in small.pages]), {row: 1.0}, restart, 1.0)
        share = weight / sum(seeds.values())
        has_edges = any(
            page != other and row in (page, other)
            for page, mentions in small.frames
            for other in mentions
        )
        exact[row] -= share * (restart if has_edges else alone[row])
    arrivals = np.zeros(rows)
    arrivals[ranks.rows] = ranks.arrivals
    assert arrivals == pytest.approx(exact, abs=1e-6)


@given(small_graphs(), WEIGHTS)
def test_sentences_carry_what_documents_pass_on(small, weights):
    seeds = {row % len(small.pages): weight for row, weight in weights.items()}
    ranks = personalised_pagerank(small.build(), seeds, tolerance=1e-6)
    assert (ranks.flows >= 0).all()
    passing = [row for row, frame in enumerate(small.frames) if set(frame[1]) - {frame[0]}]
    assert set(ranks.frames.tolist()) <= set(passing)
    # With restart 0.5, all steps together carry at most as much as stays.
    assert ranks.flows.sum() <= 1.0


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


def test_a_missing_graph_is_used_only_if_it_is_asked_for(kb_path):
    shutil.rmtree(kb_path / "derived" / "1" / "graph", ignore_errors=True)
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
    manifest = next((kb.folder / "graph").glob("*.json"))
    manifest.write_text("{}")
    with pytest.raises(AdmiralError, match="graph"):
        graph_to_use(kb, "true")
    assert not caplog.records
    assert graph_to_use(kb, "auto") is None
    assert "graph build" in caplog.text
    shutil.rmtree(kb.folder / "graph")


CLAIMS = ["Ridley Scott made Alien in London.", "Alan Dean Foster wrote Alien by the Thames."]


def results(system):
    records = [result.to_json() for result in system.retrieve_many(CLAIMS)]
    for record in records:
        for hop in record["hops"]:
            hop.pop("seconds", None)
    return records


@pytest.fixture
def settings(quick):
    return quick.config.changed(hops="2", graph="auto")


def test_without_the_graph_nothing_changes(quick, settings, kb):
    def fresh(setting):
        with KnowledgeBase.open(kb.path) as opened:
            return results(Admiral(opened, quick.checkpoint, settings.changed(graph=setting)))

    before = fresh("false")
    with_graph = fresh("auto")
    shutil.rmtree(kb.folder / "graph")
    assert fresh("auto") == fresh("false") == before
    assert with_graph != before


def test_the_bundled_weights_read_the_graph_only_where_there_is_one(quick, settings, kb):
    system = Admiral(kb, quick.checkpoint, settings)
    assert system.stages.graph is not None
    assert system.stages.document_scorer == NetworkDocumentScorer.bundled(graph=True)
    assert NetworkDocumentScorer.bundled(graph=True).reads(GRAPH_FEATURES)
    without = Admiral(kb, quick.checkpoint, settings.changed(graph=False))
    assert without.stages.graph is None
    assert without.stages.document_scorer == NetworkDocumentScorer.bundled()
    assert not NetworkDocumentScorer.bundled().reads(GRAPH_FEATURES)


def test_every_hop_records_the_proximity_of_what_was_found(quick, settings, kb):
    system = Admiral(kb, quick.checkpoint, settings)
    for state in system.search_states(CLAIMS):
        assert len(state.records) == 2
        for record in state.records:
            assert set(record.hop.read) <= set(record.proximity)
        assert max(near.arrivals for near in state.records[-1].proximity.values()) > -3


def test_weights_for_the_graph_need_one(quick, settings, kb, tmp_path):
    path = tmp_path / "ranking.json"
    path.write_text(NetworkDocumentScorer.bundled(graph=True).to_json())
    own = settings.changed(ranking_weights=str(path))
    assert Admiral(kb, quick.checkpoint, own).stages.graph is not None
    with pytest.raises(AdmiralError, match=r"'ranking_weights': .* has weights for the graph"):
        Admiral(kb, quick.checkpoint, own.changed(graph="false"))
