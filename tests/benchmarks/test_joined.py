from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from benchmarks.joined import compare


@pytest.mark.slow  # a dozen processes
def test_shards_and_one_knowledge_base_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (files("admiral") / "data" / "demo" / "documents.jsonl").read_bytes().splitlines(True)
    (tmp_path / "corpus.jsonl").write_bytes(b"".join(lines[:60]))
    titles = [json.loads(line)["title"] for line in lines[:60:20]]
    claims = [json.dumps({"id": title, "claim": f"{title} is well known."}) for title in titles]
    (tmp_path / "claims.jsonl").write_text("\n".join(claims))
    (tmp_path / "work").mkdir()
    assert compare(
        tmp_path / "corpus.jsonl", tmp_path / "claims.jsonl", tmp_path / "work", "bm25s", 3, 2
    )
    said = capsys.readouterr().out
    assert said.startswith("60 documents, bm25s, 3 shards; joining took ")
    assert said.endswith("2 of 2 rankings of 100 are the same, titles and scores\n")
