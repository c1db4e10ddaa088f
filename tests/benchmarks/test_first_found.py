"""Which source proposed a document to the hop that read it first, counted by hand."""

from __future__ import annotations

import re
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.gold import read_gold
from admiral.io.claims import evenly_spaced
from admiral.records import Claim, DocumentSet, Hop, ScoredTitle, Sentence
from admiral.retrieval.state import SearchState
from benchmarks.first_found import first_found, later_hop_sources, main, table

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def state() -> SearchState:
    """Return two hops: the first read a and b, the second b (again), x, m, c and y."""
    hops = [
        Hop(number, (), tuple(Sentence(t, 0, t) for t in evidence), None, False, 0.0)
        for number, evidence in ((1, "b"), (2, "xb"))
    ]
    sets = [[DocumentSet((t,), 0.0) for t in "ab"]]
    sets.append([DocumentSet(("b", t), -1.0) for t in "xyz"])
    return SearchState(
        Claim("1", "c"),
        candidates=[ScoredTitle(t, 0.0) for t in "abcde"],
        document_sets=sets,
        hops=hops,
        read=[["b", "a"], ["x", "b", "m", "c", "y"]],
        mentioned=[["m", "x", "n", "y"], []],
    )


def test_the_sources_of_a_document_are_those_that_proposed_it_in_time() -> None:
    assert later_hop_sources(state(), 2) == {  # y, the third title of its list, is read last
        "generated": ["b", "x", "y"],
        "mentioned by the evidence": ["m", "x", "n"],
        "first stage": ["a", "b", "c"],
    }
    first = {"BM25": ["a", "b"], "named by the claim": ["b"]}
    assert list(first_found("abxymcz", state(), first)) == [
        (1, ("BM25",)),
        (1, ("BM25", "named by the claim")),
        (2, ("generated", "mentioned by the evidence")),
        (2, ("generated",)),  # the evidence mentions y as well, but too late to be read
        (2, ("mentioned by the evidence",)),
        (2, ("first stage",)),
        (0, ()),
    ]


def test_the_graph_is_a_source_of_later_hops() -> None:
    found = first_found("xmc", state(), {}, lambda evidence: ["m", "v", "w", "c"])
    assert list(found) == [
        (2, ("generated", "mentioned by the evidence")),
        (2, ("mentioned by the evidence", "close in the graph")),
        (2, ("first stage",)),  # the graph proposes it, too, but too late to be read
    ]


def test_the_table_is_sorted_by_hop() -> None:
    found = Counter({(0, ()): 1, (2, ("generated",)): 1, (1, ("BM25",)): 2})
    assert list(table(found))[2:] == [
        "| 1 | BM25 | 2 | 0.500 |",
        "| 2 | generated | 1 | 0.250 |",
        "|  | never read | 1 | 0.250 |",
    ]


@pytest.mark.parametrize("generator", ["true", "false"])
def test_every_gold_document_is_counted(generator: str, user_cache: None) -> None:
    quick = ("reranker=bm25", "judge=never", "title_beams=2", "beam_size=4", "max_hops=2")
    settings = (*quick, "rerank_documents=6", f"generator={generator}")
    arguments = [part for one in settings for part in ("--set", one)]
    done = CliRunner().invoke(main, [str(DEMO), "--limit", "6", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    claims = evenly_spaced([claim for claim in read_gold(DEMO) if claim.evidence], 6)
    total = sum(len(claim.titles) for claim in claims)
    assert f"{total} gold documents of 6 claims" in done.output
    rows = re.findall(r"^\| (\d*) \| (.*) \| (\d+) \| [\d.]+ \|$", done.output, re.M)
    assert sum(int(count) for _, _, count in rows) == total
    assert all(sources for _, sources, _ in rows)
    assert generator == "true" or not any("generated" in sources for _, sources, _ in rows)
