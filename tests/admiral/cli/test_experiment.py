"""`admiral experiment` as a person runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.admiral.evaluation.cases import written

TEXT = """
title: Small
task: demo
kb: small
claims: ${data}/claims.jsonl
knowledge_bases: {small: {corpus: "${data}/corpus.jsonl"}}
systems:
  - {name: BM25, baseline: bm25}
"""


def test_experiment(
    admiral: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    corpus = [{"title": title, "sentences": [f"{title} is a town."]} for title in ("Aa", "Bb")]
    claims = [{"id": t, "claim": f"{t} is a town.", "evidence": [[t, 0]]} for t in ("Aa", "Bb")]
    written(tmp_path / "corpus.jsonl", corpus)
    written(tmp_path / "claims.jsonl", claims)
    file, out = tmp_path / "e.yaml", tmp_path / "out"
    file.write_text(TEXT)
    arguments = ("experiment", file, "--data", tmp_path, "--out", out)
    done = admiral(*arguments, "--limit", 1, "--set", "seed=4")
    assert (done.returncode, done.stdout.decode()) == (0, f"{out}/experiment.json\n")
    assert b"BM25 (1 of 1)" in done.stderr
    kept = json.loads((out / "experiment.json").read_text())
    assert (kept["claims"]["used"], kept["seeds"]["bootstrap"]) == (1, 4)
    assert kept["overrides"] == ["seed=4", "limit=1"]
    assert (tmp_path / "kbs" / "small" / "manifest.json").exists()
    done = admiral(*arguments)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"--resume" in done.stderr
    assert admiral(*arguments, "--resume", "--overwrite").returncode == 2
    done = admiral("experiment", file)
    assert done.returncode == 1 and b"Give --data DIR" in done.stderr
