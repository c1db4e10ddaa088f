from __future__ import annotations

import json
from pathlib import Path

from admiral.evaluation.sentence_sources import sentence_note
from admiral.experiments.knowledge_bases import base_record
from admiral.kb import KnowledgeBase, build, join


def test_what_is_recorded_of_a_joined_knowledge_base(tmp_path: Path) -> None:
    for name in ("a", "b"):
        corpus = tmp_path / f"{name}.jsonl"
        corpus.write_text(json.dumps({"title": name, "sentences": ["It is."]}))
        build(corpus, tmp_path / name, bm25="none", progress=False)
    kb = tmp_path / "all"
    join([tmp_path / "a", tmp_path / "b"], kb)
    record = base_record(str(kb), {})
    with KnowledgeBase.open(kb) as opened:
        assert record["digest"] == opened.digest
        assert [one["name"] for one in opened.settings["sources"]] == ["a.jsonl", "b.jsonl"]
    assert (record["name"], record["documents"], record["bm25"]) == ("all", 2, "none")
    assert "those of the corpus where it gives sentences" in sentence_note(kb / "x", str(kb))
