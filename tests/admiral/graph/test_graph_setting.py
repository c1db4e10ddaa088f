"""The setting `graph` in retrieval: which weights and stages it chooses."""

import shutil
from dataclasses import replace

import pytest

from admiral import Admiral, AdmiralError, RetrievalConfig
from admiral.kb import KnowledgeBase
from admiral.retrieval.document_ranking import GRAPH_FEATURES, NetworkDocumentScorer

CLAIMS = ["Ridley Scott made Alien in London.", "Alan Dean Foster wrote Alien by the Thames."]


def results(system):
    records = [result.to_json() for result in system.retrieve_many(CLAIMS)]
    for record in records:
        for hop in record["hops"]:
            hop.pop("seconds", None)
    return records


@pytest.fixture
def settings(quick):
    return replace(quick.config, hops="2", graph="auto")


def test_without_the_graph_nothing_changes(quick, settings, kb):
    def fresh(setting):
        with KnowledgeBase.open(kb.path) as opened:
            return results(Admiral(opened, quick.checkpoint, replace(settings, graph=setting)))

    before = fresh("false")
    with_graph = fresh("auto")
    shutil.rmtree(kb.path / "graph")
    assert fresh("auto") == fresh("false") == before
    assert with_graph != before


def test_the_bundled_weights_read_the_graph_only_where_there_is_one(quick, settings, kb):
    system = Admiral(kb, quick.checkpoint, settings)
    assert system.stages.graph is system.stages.graph_proximity is not None
    assert system.stages.document_scorer == NetworkDocumentScorer.bundled(graph=True)
    assert NetworkDocumentScorer.bundled(graph=True).reads(GRAPH_FEATURES)
    without = Admiral(kb, quick.checkpoint, replace(settings, graph=False))
    assert without.stages.graph is without.stages.graph_proximity is None
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
    own = replace(settings, ranking_weights=str(path))
    assert Admiral(kb, quick.checkpoint, own).stages.graph_proximity is not None
    with pytest.raises(AdmiralError, match=r"'ranking_weights': .* has weights for the graph"):
        Admiral(kb, quick.checkpoint, replace(own, graph="false"))


@pytest.mark.parametrize("value", [True, "true"])
def test_the_setting_may_be_a_boolean(value):
    assert RetrievalConfig(graph=value).graph == "true"
    with pytest.raises(AdmiralError, match="'graph': 'maybe' is not one of auto, true, false"):
        RetrievalConfig(graph="maybe").validate()
