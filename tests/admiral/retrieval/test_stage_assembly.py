"""The stages that the settings name: rerankers, document scorer and limits."""

import json
from dataclasses import replace

import pytest

from admiral import Admiral, AdmiralError
from admiral.kb import KnowledgeBase, build, embed
from admiral.protocols import claim_limits, max_evidence
from admiral.retrieval.document_ranking import NetworkDocumentScorer
from admiral.retrieval.stage_assembly import (
    build_document_scorer,
    build_reranker,
    build_sentence_encoder,
    build_stages,
)

CLAIM = "Ada Lovelace was born in London in 1815."
EVIDENCE = [("Ada Lovelace", "Ada Lovelace was born in London in 1815.")]


@pytest.fixture
def checkpoint(system, tmp_path):
    """The bundled checkpoint, as if loaded from an empty directory."""
    return replace(system.checkpoint, path=tmp_path)


def test_evidence_is_limited_by_the_identifiers_of_the_vocabulary(quick):
    """After its ten identifiers, ``mini`` names sentences by the numbers that are one token."""
    settings = replace(quick.config, evidence=342, evidence_per_document=342)
    system = Admiral(quick.kb, quick.checkpoint, settings)
    assert len(system.retrieve(CLAIM, hops=2).hops) == 2
    with pytest.raises(AdmiralError, match=r"'evidence': 343 is .* so give 342 or less$"):
        build_stages(quick.kb, quick.checkpoint, replace(settings, evidence=343))


def test_the_cross_encoder_may_be_left_out_of_the_combination(system):
    config = replace(system.config, reranker="combined", cross_encoder_documents=0)
    reranker = build_reranker(system.checkpoint, config)
    assert claim_limits(reranker) == {"the sentence encoder": 126}


def test_the_reranker_reads_the_vectors_of_the_knowledge_base(system, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"title": "Ada Lovelace", "text": EVIDENCE[0][1]}))
    build(corpus, tmp_path / "kb", bm25="none", progress=False)
    config = replace(system.config, reranker="similarity")

    def score():
        with KnowledgeBase.open(tmp_path / "kb") as kb:
            reranker = build_reranker(system.checkpoint, config, kb)
            documents = [kb.document("Ada Lovelace")]
            return reranker.score([CLAIM], [documents], [[]])[0][0].score

    computed = score()
    embed(tmp_path / "kb", build_sentence_encoder(config), progress=False)
    assert score() != computed
    assert score() == pytest.approx(computed, abs=0.003)


def test_without_a_generator_nothing_is_decoded(quick, monkeypatch):
    monkeypatch.setattr("admiral.retrieval.hop_retriever.beam_search", None)
    monkeypatch.setattr(type(quick.kb), "title_trie", None)
    config = replace(quick.config, generator=False, title_beams=5, hops="3", judge="never")
    system = Admiral(quick.kb, quick.checkpoint, config)
    result = system.retrieve(CLAIM)
    assert [bool(hop.document_sets) for hop in result.hops] == [True, False, False]
    assert all(hop.evidence for hop in result.hops)
    assert "the hop retriever" not in system.stages.claim_limits


def test_aliases_may_be_left_out_of_the_mentions(quick, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    text = "The World Health Organization (WHO) is an agency."
    corpus.write_text(json.dumps({"title": "World Health Organization", "text": text}))
    build(corpus, tmp_path / "kb", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        found = []
        for aliases in (True, False):
            config = replace(quick.config, generator=False, aliases=aliases)
            finder = build_stages(kb, quick.checkpoint, config).mention_finder
            assert finder is not None
            found.append(finder.in_text("The WHO is an agency."))
    assert found == [["World Health Organization"], []]


@pytest.mark.parametrize(
    ("reranker", "limits"),
    [
        ("bm25", {}),
        ("similarity", {"the sentence encoder": 126}),
        ("cross-encoder", {"the cross-encoder": 99}),
        ("combined", {"the sentence encoder": 126, "the cross-encoder": 99}),
    ],
)
def test_rerankers_state_how_much_of_a_claim_they_read(system, reranker, limits):
    config = replace(system.config, reranker=reranker)
    assert claim_limits(build_reranker(system.checkpoint, config)) == limits


def test_the_limits_of_all_stages_are_combined(system):
    assert system.stages.claim_limits == {
        "the sentence encoder": 126,
        "the cross-encoder": 99,
        "the hop retriever": 253,
    }
    assert system.stages.max_evidence == 342
    assert max_evidence(system.stages.judge) is None


def test_the_weights_of_the_document_scorer_are_a_setting(system, tmp_path):
    path = tmp_path / "ranking.json"
    config = replace(system.config, ranking_weights=str(path))
    with pytest.raises(AdmiralError, match=r"'ranking_weights': .*ranking\.json: not a file of"):
        build_document_scorer(config)
    other = NetworkDocumentScorer(NetworkDocumentScorer.bundled().units[:1])
    path.write_text(other.to_json())
    assert build_document_scorer(config) == other
    assert build_document_scorer(system.config) == NetworkDocumentScorer.bundled()
    for ranking in ("fused", "last-hop"):
        assert build_document_scorer(replace(config, ranking=ranking)) is None
