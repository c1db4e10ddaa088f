"""The command line end to end with tiny models of T5's family."""

import json
import math

import pytest
import torch
from safetensors.torch import save_file

from admiral.cli.main import main
from admiral.models.checkpoint import SUFFICIENCY_HEAD, RerankHead, save_head
from tests.training.tiny import RIVERS, TITLES, write_t5_directory

CLAIM = "Rome is a city of the Tiber."
QUICK = ("--hops", "2", "--beam-size", "4", "--judge", "never")


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    documents = [
        {"title": t, "sentences": [f"{t} is a city.", f"The {RIVERS[t]} is a river."]}
        for t in TITLES
    ]
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in documents))
    assert main(["index", str(corpus), "--kb", str(folder / "kb"), "--bm25", "bm25s"]) == 0
    return folder / "kb"


def test_a_plain_t5_retrieves(admiral, kb, tmp_path):
    model = write_t5_directory(tmp_path / "t5")
    command = ("retrieve", "--kb", kb, "--model", model, "--reranker", "bm25", "--json", *QUICK)
    done = admiral(*command, CLAIM)
    assert done.returncode == 0, done.stderr.decode()
    record = json.loads(done.stdout)
    assert {document["title"] for document in record["documents"]} <= set(TITLES)
    assert len(record["hops"]) == 2
    sets = record["hops"][1]["document_sets"]
    assert sets
    assert all(len(set(one["titles"])) == 2 for one in sets)
    assert all(set(one["titles"]) <= set(TITLES) for one in sets)
    assert 0 < sum(math.exp(one["score"]) for one in sets) < 1


@pytest.mark.parametrize("kind", ["t5 v1.1", "mt5", "umt5", "longt5"])
def test_heads_on_its_encoder_work(kind, kb, tmp_path, capsys):
    """The cross-encoder and the judge `classifier`."""
    model = write_t5_directory(tmp_path / "t5", kind)
    torch.manual_seed(0)
    save_head(model, RerankHead(16), torch.float32)
    head = {"weight": torch.zeros(32), "bias": torch.tensor(1.0)}
    save_file(head, model / SUFFICIENCY_HEAD)
    command = ["retrieve", "--kb", str(kb), "--model", str(model), "--json", "--set", "top_k=4"]
    stages = ["--reranker", "cross-encoder", "--judge", "classifier", "--set", "ranking=last-hop"]
    assert main([*command, *stages, CLAIM]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["stopped"] == "sufficient"
    scores = [sentence["score"] for sentence in record["evidence"]]
    assert len(set(scores)) > 1


def test_a_t5_without_braces_cannot_write_proofs(tmp_path, capsys):
    model = write_t5_directory(tmp_path / "t5")
    command = ["prove", "--model", str(model), "--judge", "generated", CLAIM, "--evidence", "A."]
    assert main(command) == 1
    message = capsys.readouterr().err
    assert "cannot write proofs (the vocabulary has no token for { })" in message
    assert "training prover" in message
