"""Training a tiny T5: it learns all tasks, and the system reads its checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from admiral.cli.main import main
from admiral.kb import build
from admiral.models.checkpoint import verify_checkpoint
from tests.training.tiny import lines, prepare, write_t5_directory
from training.multitask.multitask_program import train
from trie.model.safe_tokenizer import TASKS

pytestmark = pytest.mark.slow


def test_a_trained_t5_retrieves_reranks_and_proves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = replace(
        prepare(tmp_path, write_t5_directory), steps=60, eval_every=20, keep="best", log_every=10
    )
    train(config, TASKS)
    losses = [line["generation"] for line in lines(config) if "generation" in line]
    assert losses[-1] < 0.5 * losses[0]
    scores = [line["dev/score"] for line in lines(config) if "dev/score" in line]
    assert len(scores) == 3
    assert "A T5 sequence-to-sequence model" in (Path(config.out) / "README.md").read_text()
    build(tmp_path / "corpus.jsonl", tmp_path / "searchable", bm25="bm25s", progress=False)
    capsys.readouterr()
    options = [
        "--kb",
        str(tmp_path / "searchable"),
        "--model",
        config.out,
        "--reranker",
        "cross-encoder",
    ]
    command = ["retrieve", *options, "--judge", "generated", "--hops", "2", "--json"]
    assert main([*command, "Rome is a city."]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["documents"]
    assert all(hop["proof"] for hop in record["hops"])
    assert verify_checkpoint(config.out) == []
