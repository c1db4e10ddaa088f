"""The code of docs/models.md is run as it stands, on tiny untrained models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from admiral.kb import build
from admiral.models.checkpoint import ARCHITECTURES
from tests.training.tiny import RIVERS, TITLES, write_hub_directory, write_t5_directory

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
TEXT = PAGE.read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
NAME = "google/flan-t5-base"


@pytest.fixture
def kb(tmp_path, monkeypatch):
    """A folder with the knowledge base that the page names."""
    monkeypatch.chdir(tmp_path)
    documents = [
        {"title": t, "sentences": [f"{t} is a city.", f"A claim of the {RIVERS[t]}."]}
        for t in TITLES
    ]
    Path("corpus.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    build("corpus.jsonl", "my-kb", bm25="bm25s", progress=False)


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_the_code_does_what_the_page_says(kind, kb, tmp_path, capsys):
    write = write_t5_directory if kind == "t5" else write_hub_directory
    model = write(tmp_path / "model", positions=512)
    assert CODE.count(NAME) == 1
    names: dict[str, object] = {}
    exec(compile(CODE.replace(NAME, str(model)), str(PAGE), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    for line in lines:
        kept, title = re.findall(r"'(\w+)'", line)
        assert kept != title
        assert {kept, title} <= set(TITLES)
        assert float(line.split()[-1]) < 0


def test_the_page_names_all_architectures():
    assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| `.*?\|", TEXT, re.M)))) >= set(
        ARCHITECTURES
    )
