"""The Python of the README is run as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from admiral import Admiral, RetrievalConfig
from admiral.kb import build
from admiral.records import Document, Sentence

PAGE = Path(__file__).parents[2] / "README.md"
USE, REPLACE = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture(autouse=True)
def my_kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"Seth Meyers": "He claims to host Late Night.", "Late Night": "A claim is a joke."}
    lines = [json.dumps({"title": title, "text": text}) for title, text in texts.items()]
    Path("corpus.jsonl").write_text("\n".join(lines))
    build("corpus.jsonl", "my-kb", bm25="bm25s", progress=False)


def test_claims_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(USE, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert "A claim is a joke." in said
    assert [f"'id': '{name}'" in said for name in ("1", "b")] == [True, True]


class MyReranker:
    """Finds all sentences equally good."""

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        return [
            [Sentence(d.title, n, text, 7.0) for d in one for n, text in enumerate(d.sentences)]
            for one in documents
        ]


def test_a_stage_is_replaced() -> None:
    # By votes, so that evidence has the scores of the reranker alone.
    config = RetrievalConfig(reranker="bm25", judge="lexical", title_beams=0, ranking="fused")
    with Admiral.from_pretrained("mini", kb="my-kb", config=config) as system:
        exec(compile(REPLACE, str(PAGE), "exec"), {"system": system, "MyReranker": MyReranker})
        found = system.retrieve("A claim.", hops=1).evidence
    assert found and {sentence.score for sentence in found} == {7.0}
