"""`admiral download` and `convert`."""

import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from admiral.cli.main import main

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
    command = ("download", "hover", "--base", base, "--out", out)
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
