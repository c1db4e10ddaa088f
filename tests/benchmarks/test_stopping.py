"""Judges compared on the hops of real searches, beside retrieval that stops by itself."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral import Admiral, Claim, RetrievalConfig
from admiral.records import Sentence
from admiral.retrieval.stage_assembly import build_judge
from benchmarks.stopping import HOPS, RealHop, found, made, main, told
from proofs.judges.judgement import probabilities

DEMO = Path(__file__).parents[2] / "admiral" / "data" / "demo" / "claims.jsonl"
SETTINGS = {"beam_size": 4, "rerank_documents": 4, "title_beams": 0, "reranker": "bm25"}


def hop(number, probability, titles, ranked=""):
    shares = probabilities([probability, 1 - probability, 0])
    evidence = tuple(Sentence(title, number) for title in titles)
    one = RealHop(
        *(False, None, probability, shares, 0.7),
        **{"number": number, "evidence": evidence, "seconds": 0.5, "claim": "A claim."},
        **{"gold": [frozenset("ab"), frozenset("c")], "ranked": list(ranked)},
    )
    return one.at_threshold(0.7)


@pytest.fixture(scope="module")
def hops(tmp_path_factory):
    path = tmp_path_factory.mktemp("stopping") / "hops.jsonl"
    options = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    CliRunner().invoke(main, ["collect", str(DEMO), str(path), "--limit", "2", *options])
    return path


@pytest.mark.parametrize("name", ["verifier", "lexical", "always"])
def test_stops_where_dynamic_retrieval_stops(hops, name):
    config = RetrievalConfig(judge=name, **SETTINGS)
    with Admiral.from_pretrained(config=config) as system:
        judge = build_judge(system.checkpoint, config)
        for line in hops.read_bytes().splitlines():
            own = made([one.read_by(judge) for one in HOPS.validate_json(line)], config)
            result = system.retrieve(Claim("1", own[0].claim))
            assert len(own) == len(result.hops)
            assert own[-1].ranked == [d.title for d in result.documents[:10]]
            assert [s.key for s in own[-1].evidence] == [s.key for s in result.evidence]


def test_the_tables_have_rows_for_judges_rules_and_fixed_numbers_of_hops(hops):
    options = ["--judge=never", "--judge=oracle", "--rule=min_hops=1"]
    output = CliRunner().invoke(main, ["compare", str(hops), *options]).output
    told_rows, found_rows = (table.split("\n")[2:] for table in output.strip().split("\n\n"))
    assert [row.split(" | ")[3] for row in told_rows] == ["first", "later"] * 2
    rules = list(dict.fromkeys(row.split(" | ")[1] for row in found_rows))
    assert rules == ["min_hops=1", "hops=1", "hops=2", "hops=3"]


def test_a_threshold_decides_where_a_search_stops():
    hops = [hop(1, 0.8, "a"), hop(2, 0.9, "ab"), hop(3, 0.95, "abc")]
    for at, stops in [(0.7, 1), (0.85, 2), (0.99, 3)]:
        rule = RetrievalConfig(min_hops=1, stop_at=at)
        assert len(made([one.at_threshold(at) for one in hops], rule)) == stops


def test_what_is_told_and_found():
    hops = [hop(1, 0.9, "ab"), hop(1, 0.8, "a"), hop(1, 0.6, "c"), hop(1, 0.1, "b")]
    assert told(hops) == ["4", "0.500", "0.667", "0.500", "0.500", "0.500", "0.500"]
    searches = [[hop(1, 0.9, "ab", "xyzuvab")], [hop(1, 0.1, "a", "a"), hop(2, 0.9, "a", "abx")]]
    assert found(searches) == ["2", "0.500", "0.500", "0.500", "1.000", "1.50", "0.75"]
