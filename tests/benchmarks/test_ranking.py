"""One run of hops, ranked in every way that the settings know."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from click.testing import CliRunner

from admiral.config import RetrievalConfig
from benchmarks.ranking import RANKINGS, main

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def test_every_ranking_has_a_line(user_cache: None) -> None:
    quick = ("reranker=bm25", "judge=never", "title_beams=0", "beam_size=4", "max_hops=2")
    arguments = [part for one in quick for part in ("--set", one)]
    done = CliRunner().invoke(main, [str(DEMO), "--limit", "4", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    lines = [line.split(" | ") for line in done.output.splitlines()]
    names = [f"| {name}, {hops}" for hops in ("one hop", "all hops") for name in RANKINGS]
    assert [line[0] for line in lines if line[1:2] == ["all"]] == names
    assert RetrievalConfig().ranking in RANKINGS
