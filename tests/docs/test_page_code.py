"""The code of these pages is run as it stands, and what it does is checked."""

import json
import re
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel

from admiral.kb import KnowledgeBase, build, demo_kb, info
from admiral.requirements import minilm_directory
from tests.training.tiny import RIVERS, TITLES, write_hub_directory, write_t5_directory
from training.synthesis import Synthesizer
from training.warm_start import mini_tokenizer

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
CONSTRAINING_BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", CONSTRAINING.read_text(encoding="utf-8"), re.M | re.S
)
QUESTION = "who wrote the first program for a machine"
STRINGS = {"Ada Lovelace", "Alan Kay", "Alan Turing", "Grace Hopper"}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A directory for each model that the page names."""
    torch.manual_seed(0)
    tokenizer = mini_tokenizer(minilm_directory())
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    ids = {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    bart = BartForConditionalGeneration(
        BartConfig(
            **ids,
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
            max_position_embeddings=64,
            decoder_start_token_id=tokenizer.eos_token_id,
            # What the real checkpoint asks of its users, too.
            forced_bos_token_id=tokenizer.bos_token_id,
            forced_eos_token_id=tokenizer.eos_token_id,
        )
    )
    bart.generation_config.no_repeat_ngram_size = 3
    gpt2 = GPT2LMHeadModel(GPT2Config(**ids, n_embd=16, n_layer=1, n_head=2, n_positions=64))
    made = {}
    for name, model in (("facebook/bart-base", bart), ("openai-community/gpt2", gpt2)):
        made[name] = tmp_path_factory.mktemp("checkpoint")
        model.save_pretrained(made[name])
        tokenizer.save_pretrained(made[name])
    return made


def test_code_about_constraining(checkpoints, capsys):
    assert len(CONSTRAINING_BLOCKS) == 3
    names = {}
    for block, (name, directory) in zip(CONSTRAINING_BLOCKS[:2], checkpoints.items(), strict=True):
        assert block.count(name) == 1
        exec(compile(block.replace(name, str(directory)), str(CONSTRAINING), "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) == 2
        assert set(printed) <= STRINGS
    for seed in range(5):
        torch.manual_seed(seed)
        for weights in names["model"].parameters():
            torch.nn.init.normal_(weights)
        exec(compile(CONSTRAINING_BLOCKS[2], str(CONSTRAINING), "exec"), names)
        (printed,) = capsys.readouterr().out.splitlines()
        terms = [term.strip() for term in printed.split(";")]
        assert 1 <= len(terms) <= 3
        for term in terms:
            assert term in {string.lower() for string in STRINGS} or (
                term in QUESTION and len(term.split()) <= 3
            )


SYNTHESIS = Path(__file__).parents[2] / "docs" / "synthesis.md"


def test_the_examples_are_written(user_cache):
    text = SYNTHESIS.read_text(encoding="utf-8")
    examples = [json.loads(one) for one in re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)]
    count = int(re.findall(r"synthesize --kb demo --count (\d+)", text)[0])
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        claims = islice(Synthesizer(kb).claims(), count)
        records = json.loads(json.dumps([claim.to_json() for claim in claims]))
    assert len(examples) == 3 and {len(one["described"]) for one in examples} == {1, 2, 3}
    for example in examples:
        assert example in records
