"""`admiral download` and `convert`."""

import json
import os
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from admiral.cli.main import main
from admiral.gold import Label, read_gold
from admiral.kb import KnowledgeBase, build, demo_kb
from tests.admiral.synthesis.in_memory_documents import DOCUMENTS


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthesize")
    lines = [{"title": d.title, "sentences": d.sentences} for d in DOCUMENTS]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    build(folder / "corpus.jsonl", folder / "kb", bm25="none", progress=False)
    return folder / "kb"


def test_claims_are_read_as_gold(admiral, tmp_path):
    output = tmp_path / "claims.jsonl"
    arguments = ("synthesize", "--kb", "demo", "--count", "120", "--output")
    done = admiral(*arguments, output)
    assert done.returncode == 0, done.stderr
    assert b"120 of 120 claims" in done.stderr
    assert done.stdout == b""
    claims = list(read_gold(output))
    assert len(claims) == 120
    assert {c.label for c in claims} == {Label.SUPPORTS, Label.REFUTES}
    assert {c.hops for c in claims} == {2, 3, 4}
    assert any(c.ordered for c in claims)
    with KnowledgeBase.open(demo_kb()) as kb:
        for claim in claims:
            assert len(claim.titles) == claim.hops
            assert all(kb.document(title).sentences[i] for title, i in claim.sentences)
    first = output.read_bytes()
    assert admiral(*arguments, tmp_path / "again.jsonl", "--quiet").stderr == b""
    assert (tmp_path / "again.jsonl").read_bytes() == first
    admiral(*arguments, tmp_path / "other.jsonl", "--seed", "1")
    assert (tmp_path / "other.jsonl").read_bytes() != first


def test_an_interrupted_run_is_resumed(admiral, small, tmp_path):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "claims.jsonl"
    arguments = ("synthesize", "--kb", small, "--output")
    assert admiral(*arguments, whole, "--count", "60").returncode == 0
    assert admiral(*arguments, output, "--count", "25").returncode == 0
    assert admiral(*arguments, output, "--count", "60").returncode == 0
    assert output.read_bytes() == whole.read_bytes()
    done = admiral(*arguments, output, "--count", "25")
    assert done.returncode == 1
    assert b"holds 60 claims, more than 25" in done.stderr
    done = admiral(*arguments, output, "--count", "60", "--seed", "1")
    assert done.returncode == 1
    assert b"seed was 0, now 1" in done.stderr
    assert output.read_bytes() == whole.read_bytes()
    done = admiral(*arguments, output, "--count", "30", "--overwrite", "--hops", "3")
    assert done.returncode == 0, done.stderr
    assert {claim.hops for claim in read_gold(output)} == {3}


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--hops", "2-5"], 2, "not a number from 2 to 4"),
        (["--hops", "4-2"], 2, "not a number from 2 to 4"),
        (["--count", "0"], 2, "--count"),
        (["--labels", "maybe"], 2, "--labels"),
        (["--kb", "nowhere"], 1, "nowhere"),
        (["--output", "no/where/out.jsonl"], 1, "its folder does not exist"),
    ],
)
def test_wrong_arguments(admiral, small, tmp_path, arguments, status, problem):
    usual = ["--kb", str(small), "--count", "5", "--output", str(tmp_path / "out.jsonl")]
    done = admiral("synthesize", *usual, *arguments)
    assert done.returncode == status
    assert problem in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sentences", "problem"),
    [
        (["Ada Brook is a Welsh painter."], "none of its 2 documents names another one"),
        (["Ada Brook is a painter who was taught by Nobody."], "none of these can be described"),
    ],
)
def test_nothing_to_write(admiral, tmp_path, sentences, problem):
    documents = [
        {"title": "Ada Brook", "sentences": sentences},
        {"title": "Nobody", "sentences": ["Who was that?"]},
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents))
    build(tmp_path / "corpus.jsonl", tmp_path / "kb", bm25="none", progress=False)
    output = tmp_path / "out.jsonl"
    done = admiral("synthesize", "--kb", tmp_path / "kb", "--count", "5", "--output", output)
    assert done.returncode == 1
    assert problem in done.stderr.decode()
    assert not list(tmp_path.glob("out.jsonl*"))


def test_claims_are_kept_out_of_the_knowledge_base(admiral, small, tmp_path):
    manifest, link, pipe = small / "kb.sqlite", tmp_path / "link", tmp_path / "pipe"
    before = manifest.read_bytes()
    link.symlink_to(manifest)
    os.mkfifo(pipe)
    for output, problem in (
        (manifest, b"which is read. Choose another output"),
        (link, b"which is read. Choose another output"),
        (small / "claims.jsonl", b"which is read. Choose another output"),
        (pipe, b"is not a regular file"),
    ):
        arguments = ("--count", "5", "--overwrite", "--output", output)
        done = admiral("synthesize", "--kb", small, *arguments)
        assert done.returncode == 1, done.stderr
        assert problem in done.stderr
    assert manifest.read_bytes() == before
    assert not (small / "claims.jsonl").exists()


FILE = "hover_dev_release_v1.1.json"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def base(tmp_path):
    """A server with one of HoVer's files."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / FILE).write_text("[]")
    serve = partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


def test_download(admiral, base, tmp_path):
    out = tmp_path / "data"
    command = ("download", "hover", "--base", base, "--out", out, "--attempts", 1)
    done = admiral(*command, "--file", FILE)
    assert (done.returncode, done.stdout.decode()) == (0, f"{out / FILE}\n")
    assert b"hotpotqa-abstracts" in done.stderr
    assert (out / FILE).read_text() == "[]"
    done = admiral(*command, "--file", FILE)
    assert done.stdout.decode() == f"{out / FILE} exists already\n"
    done = admiral(*command)
    assert done.returncode == 1
    assert b"404" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert admiral(*command, "--file", "corpus.db").returncode == 2
    assert admiral("download", "squad").returncode == 2
    assert admiral(*command, "--wait", "nan").returncode == 2


def test_addresses_are_shown(admiral, tmp_path):
    done = admiral("download", "feverous", "--list", "--out", tmp_path)
    text = done.stdout.decode()
    assert done.returncode == 0
    assert text.startswith("documented at https://fever.ai/")
    assert text.count("MD5") == 3
    assert not list(tmp_path.iterdir())


def test_download_with_standard_error_closed(command, environment, base, tmp_path):
    fetching = ["download", "hover", "--base", base, "--out", str(tmp_path), "--file", FILE]
    closing = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    done = subprocess.run([*closing, *command, *fetching], env=environment, timeout=300)
    assert done.returncode == 0
    assert (tmp_path / FILE).read_text() == "[]"


WORDS = ["<s>", "<pad>", "</s>", "<unk>", "the", "and", "##s"]


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    sides = ("encoder", "decoder")
    sizes = {f"{side}_{name}": 2 for side in sides for name in ("layers", "attention_heads")}
    config = BartConfig(
        **sizes,
        vocab_size=len(WORDS),
        d_model=8,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        max_position_embeddings=8,
    )
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "model")
    core = Tokenizer(models.WordPiece({w: n for n, w in enumerate(WORDS)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    ).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_converted_model_converts_back(model, tmp_path, capsys):
    middle, back = str(tmp_path / "fairseq"), str(tmp_path / "back")
    capsys.readouterr()
    assert main(["convert", "hf-to-fairseq", str(model), middle]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"{middle}: ")
    assert shown.out.endswith(" parameters, 7 tokens\n")
    assert main(["convert", "fairseq-to-hf", middle, back]) == 0
    before, after = (
        BartForConditionalGeneration.from_pretrained(place).state_dict() for place in (model, back)
    )
    assert all(torch.equal(before[name], after[name]) for name in before)

    assert main(["convert", "fairseq-to-hf", middle, back]) == 1
    assert "exists already" in capsys.readouterr().err
    flags = ["--tokenizer", str(model), "--checkpoint-file", "model.pt"]
    assert main(["convert", "fairseq-to-hf", middle, str(tmp_path / "other"), *flags]) == 0
