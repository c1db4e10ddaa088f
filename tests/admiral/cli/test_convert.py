"""`admiral convert` on the command line."""

import subprocess
import sys

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from admiral.cli.main import main

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
    assert shown.err.startswith("Note: the tokenizer has no GPT-2 byte pairs")
    assert main(["convert", "fairseq-to-hf", middle, back]) == 0
    before, after = (
        BartForConditionalGeneration.from_pretrained(place).state_dict() for place in (model, back)
    )
    assert all(torch.equal(before[name], after[name]) for name in before)

    assert main(["convert", "fairseq-to-hf", middle, back]) == 1
    assert capsys.readouterr().err.count("\n") >= 1
    assert main(["convert", "fairseq-to-hf", middle, back, "--overwrite"]) == 0
    flags = ["--tokenizer", str(model), "--checkpoint-file", "model.pt"]
    assert main(["convert", "fairseq-to-hf", middle, str(tmp_path / "other"), *flags]) == 0


def test_help_does_not_wait_for_torch():
    code = (
        "import sys; from admiral.cli.main import main; "
        "main(['convert', 'fairseq-to-hf', '--help']); assert 'torch' not in sys.modules"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--tokenizer" in shown.stdout
