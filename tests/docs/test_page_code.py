"""The code of these pages is run as it stands, and what it does is checked."""

import json
import re
from itertools import islice
from pathlib import Path

import pytest

from admiral.kb import KnowledgeBase, build, demo_kb, info
from tests.training.tiny import RIVERS, TITLES, write_hub_directory, write_t5_directory
from training.synthesis import Synthesizer

INTEGRATIONS = Path(__file__).parents[2] / "docs" / "integrations.md"
CODES = re.findall(r"^```python\n(.*?)^```$", INTEGRATIONS.read_text(encoding="utf-8"), re.M | re.S)
NEEDS = (None, "langchain_core", "llama_index.core", "haystack")


@pytest.mark.parametrize(
    ("code", "needs"), list(zip(CODES, NEEDS, strict=True)), ids=("asyncio", *NEEDS[1:])
)
def test_code_about_integrations(code, needs, monkeypatch, capsys):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    if needs is not None:
        pytest.importorskip(needs, reason=f"needs the package {needs}")
    exec(compile(code, str(INTEGRATIONS), "exec"), {})
    assert "Seth Meyers" in capsys.readouterr().out


KNOWLEDGE_BASES = Path(__file__).parents[2] / "docs" / "knowledge-bases.md"
(UPDATING_CODE,) = re.findall(
    r"^```python\n(.*?)^```$", KNOWLEDGE_BASES.read_text(encoding="utf-8"), re.M | re.S
)


def test_code_about_updating(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, titles in {"corpus": ["Seth Meyers", "Bird"], "more": ["Bird", "Nest"]}.items():
        lines = [json.dumps({"title": title, "text": f"{name}."}) for title in titles]
        Path(f"{name}.jsonl").write_text("\n".join(lines))
    build("corpus.jsonl", "my-kb", bm25="none", progress=False)
    exec(compile(UPDATING_CODE, str(KNOWLEDGE_BASES), "exec"), {})
    with KnowledgeBase.open("my-kb") as kb:
        found = [(document.title, *document.sentences) for document in kb.documents()]
        assert found == [("Bird", "more."), ("Nest", "more.")]
    assert info("my-kb").commit > 1


MODELS = Path(__file__).parents[2] / "docs" / "models.md"
TEXT = MODELS.read_text(encoding="utf-8")
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
def test_code_about_models(kind, kb, tmp_path, capsys):
    write = write_t5_directory if kind == "t5" else write_hub_directory
    model = write(tmp_path / "model", positions=512)
    assert CODE.count(NAME) == 1
    names = {}
    exec(compile(CODE.replace(NAME, str(model)), str(MODELS), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    for line in lines:
        kept, title = re.findall(r"'(\w+)'", line)
        assert kept != title
        assert {kept, title} <= set(TITLES)
        assert float(line.split()[-1]) < 0


CONSTRAINING = Path(__file__).parents[2] / "docs" / "constraining.md"
(CONSTRAINING_CODE,) = re.findall(
    r"^```python\n(.*?)^```$", CONSTRAINING.read_text(encoding="utf-8"), re.M | re.S
)
STRINGS = {"Ada Lovelace", "Alan Kay", "Alan Turing", "Grace Hopper"}


def test_code_about_constraining(tmp_path, capsys):
    model = write_hub_directory(tmp_path / "model", positions=512)
    assert CONSTRAINING_CODE.count("facebook/bart-base") == 1
    code = CONSTRAINING_CODE.replace("facebook/bart-base", str(model))
    exec(compile(code, str(CONSTRAINING), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert set(printed) <= STRINGS


TRAINING = Path(__file__).parents[2] / "docs" / "training.md"


def test_a_synthetic_claim_has_the_fields_of_the_example(user_cache):
    text = TRAINING.read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        claims = islice(Synthesizer(kb).claims(), 100)
        records = [claim.to_json() for claim in claims]
    refuted = next(record for record in records if record["label"] == "REFUTED")
    assert refuted.keys() == json.loads(example).keys()
