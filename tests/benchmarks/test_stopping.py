"""Retrieval repeated from memory beside retrieval that stops by itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from admiral import Admiral, Claim, RetrievalConfig
from admiral.io.claims import read_claims
from admiral.retrieval.stage_assembly import build_judge
from benchmarks.stopping import Remembering, Stop, rankings_by_hops, row, stop_of
from proofs.judges.judgement import NeverSufficient

DEMO = Path(__file__).parents[2] / "admiral" / "data" / "demo" / "claims.jsonl"


@pytest.mark.parametrize("name", ["verifier", "lexical", "always"])
def test_stops_where_dynamic_retrieval_stops(name):
    config = RetrievalConfig(
        beam_size=4, rerank_documents=4, top_k=10, title_beams=0, reranker="bm25", judge=name
    )
    claims = [Claim(c.id, c.text) for c in list(read_claims(DEMO))[::30]]
    with Admiral.from_pretrained(config=config) as system:
        stages = system.stages
        expected = [system.retrieve(claim, hops="dynamic") for claim in claims]
        judge = build_judge(system.checkpoint, config.changed(judge=name))
        system.stages = replace(
            stages,
            first_stage=Remembering(stages.first_stage),
            reranker=Remembering(stages.reranker),
            judge=NeverSufficient(),
            hop_retriever=Remembering(stages.hop_retriever),
        )
        for claim, one in zip(claims, expected, strict=True):
            whole, rankings = rankings_by_hops(system, claim)
            stop = stop_of(judge, claim, whole, frozenset(), config)
            assert stop.hop == len(one.hops)
            assert rankings[stop.hop - 1] == [d.title for d in one.documents]


def test_the_oracle_stops_when_all_gold_documents_are_in_the_evidence():
    with Admiral.from_pretrained(
        config=RetrievalConfig(beam_size=4, rerank_documents=4, title_beams=0, reranker="bm25")
    ) as system:
        whole = system.retrieve("Seth Meyers was born in 1973.", hops=2)
    claim, found = Claim("1", "Seth Meyers was born in 1973."), whole.hops[0].evidence[0].title
    one, two = RetrievalConfig(min_hops=1), RetrievalConfig(min_hops=2)
    assert stop_of(None, claim, whole, frozenset([found]), one).hop == 1
    assert stop_of(None, claim, whole, frozenset([found]), two).hop == 2
    assert stop_of(None, claim, whole, frozenset(["no such document"]), one).hop == 2


def test_a_row_counts_hops_and_the_time_saved():
    stops = [Stop(2, 1.0, 0.1), Stop(4, 2.0, 0.3)]
    line = row("x", stops, [(True, True, True), (False, True, True)], 3.4, "all")
    assert line == "| x | all | 2 | 0.500 | 1.000 | 1.000 | 3.00 | 1.70 | 200 | 50% |"
