"""Conversion to fairseq: equal logits, lossless round trips, errors."""

import argparse
import json
import pickle
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    PreTrainedTokenizerFast,
)

from admiral.cli.data import convert_command
from admiral.convert import fairseq_to_hf, hf_to_fairseq, hf_to_safetensors
from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_seq2seq, locate_checkpoint

WORDS = ["[PAD]", "the", "[unused]", "<e0>", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "an", "##er", "7"]


def load(path):
    with torch.serialization.safe_globals([argparse.Namespace]):
        return torch.load(path, weights_only=True)


def word_piece_directory(directory, rows=14, **config):
    """Write a model such as `mini`: BERT's special tokens, and more rows than tokens."""
    torch.manual_seed(5)
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=rows,
            d_model=16,
            max_position_embeddings=20,
            encoder_layers=2,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            init_std=0.3,
            **{
                "pad_token_id": 0,
                "bos_token_id": 5,
                "eos_token_id": 6,
                "decoder_start_token_id": 6,
                "forced_eos_token_id": None,
                **config,
            },
        )
    )
    model.save_pretrained(directory)
    core = Tokenizer(models.WordPiece({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", 6), ("[CLS]", 5))
    core.add_special_tokens(["<e0>"])
    PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(directory)
    return directory


@pytest.mark.parametrize("mask", ["row", "line", "none"])
@pytest.mark.parametrize("extra", [["madeupword0000"], ["<special>", "madeupword0000"]])
def test_round_trip_from_fairseq_is_bit_equal(fairseq, tmp_path, mask, extra):
    shape = fairseq.Shape(mask=mask, extra=extra, dtype=torch.float16)
    source = fairseq.write(tmp_path / "in", shape)
    fairseq_to_hf(source, tmp_path / "hf")
    hf_to_fairseq(tmp_path / "hf", tmp_path / "back")
    before, after = load(source / "model.pt"), load(tmp_path / "back/model.pt")
    assert before["model"].keys() == after["model"].keys()
    for name, tensor in before["model"].items():
        assert after["model"][name].dtype == tensor.dtype, name
        assert torch.equal(after["model"][name], tensor), name
    name = "dict.source.txt" if mask == "none" else "dict.txt"
    symbols = [line.rpartition(" ")[0] for line in (source / name).read_text().splitlines()]
    written = [line.split(" ")[0] for line in (tmp_path / "back" / name).read_text().splitlines()]
    # A mask at the end of dict.txt is what the denoising task adds by itself.
    assert written == [symbol for symbol in symbols if symbol != "<mask>"]
    assert json.loads((tmp_path / "back/encoder.json").read_text()) == fairseq.encoder()
    assert (tmp_path / "back/vocab.bpe").read_bytes() == (source / "vocab.bpe").read_bytes()
    mine, theirs = vars(after["args"]), vars(before["args"])
    same = theirs.keys() & mine.keys() - {"relu_dropout"}
    assert len(same) > 15
    assert {n: mine[n] for n in same} == {n: theirs[n] for n in same}


def test_word_piece_vocabulary_is_preserved(fairseq, tmp_path):
    source = word_piece_directory(tmp_path / "in")
    hf_to_fairseq(source, tmp_path / "out")
    lines = (tmp_path / "out/dict.txt").read_text().splitlines()
    assert [line.rpartition(" ")[0] for line in lines] == [
        *["the", "[unused]", "<e0>", "<mask>", "an", "##er", "7"],
        *["madeupword0000", "madeupword0001", "madeupword0002"],
    ]
    assert not (tmp_path / "out/encoder.json").exists()
    state = load(tmp_path / "out/model.pt")
    assert state["args"].task == "denoising"
    # Row of fairseq for each id here, read off the dictionary above.
    row = torch.tensor([1, 4, 5, 6, 3, 0, 2, 7, 8, 9, 10, 11, 12, 13])
    shape = fairseq.Shape(layers=(2, 1), heads=(4, 4), inner=(24, 24))
    ids = torch.tensor([[5, 1, 8, 9, 6], [5, 3, 6, 0, 0]])
    previous = torch.tensor([[6, 5, 10], [6, 1, 2]])
    model = BartForConditionalGeneration.from_pretrained(source).eval()
    with torch.no_grad():
        ours = model(input_ids=ids, attention_mask=ids.ne(0), decoder_input_ids=previous).logits
    theirs = fairseq.logits(state["model"], shape, row[ids], row[previous])
    assert ours.std() > 0.1
    torch.testing.assert_close(theirs[..., row], ours, atol=1e-5, rtol=0)

    fairseq_to_hf(tmp_path / "out", tmp_path / "back")
    before = model.state_dict()
    after = BartForConditionalGeneration.from_pretrained(tmp_path / "back").state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    config = json.loads((tmp_path / "back/config.json").read_text())
    names = ("pad", "bos", "eos", "decoder_start")
    assert [config[f"{name}_token_id"] for name in names] == [0, 5, 6, 6]
    text = "the an <e0> 7 other"
    again = AutoTokenizer.from_pretrained(tmp_path / "back")
    assert again(text)["input_ids"] == AutoTokenizer.from_pretrained(source)(text)["input_ids"]


def test_sharded_weights_and_unknown_tensors(fairseq, tmp_path, caplog):
    source = word_piece_directory(tmp_path / "in")
    hf_to_fairseq(source, tmp_path / "one")
    tensors = load_file(source / "model.safetensors")
    (source / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for part, held in parts.items():
        save_file({name: tensors[name] for name in held}, source / part)
    save_file({"rerank.weight": torch.ones(3)}, source / "c.safetensors")
    parts["c.safetensors"] = ["rerank.weight"]
    table = {name: part for part, held in parts.items() for name in held}
    (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    hf_to_fairseq(source, tmp_path / "two")
    assert "rerank.weight is not part of BART" in caplog.text
    one, two = (load(tmp_path / name / "model.pt")["model"] for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[n], two[n]) for n in one)


def test_pickled_weights_become_safetensors(tmp_path):
    source = word_piece_directory(tmp_path / "in")
    before = load_seq2seq(source).state_dict()
    (source / "model.safetensors").unlink()
    torch.save(before, source / "pytorch_model.bin")
    with pytest.raises(AdmiralError, match="pickled weights are not read"):
        locate_checkpoint(source)
    arguments = ["hf-to-safetensors", str(source), str(tmp_path / "out")]
    result = CliRunner().invoke(convert_command, arguments)
    assert result.stdout == f"{tmp_path / 'out'}: 7,992 parameters, 11 tokens\n", result.exception
    after = load_seq2seq(tmp_path / "out").state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_other_pickles_are_refused(tmp_path):
    source = word_piece_directory(tmp_path / "in")
    (source / "model.safetensors").unlink()
    torch.save({"shared": Path("x")}, source / "pytorch_model.bin")
    with pytest.raises(AdmiralError, match=r"needs the class pathlib.*can run code"):
        hf_to_safetensors(source, tmp_path / "out")
    trie = tmp_path / "titles_trie.pkl"
    trie.write_bytes(pickle.dumps({2: {31: {}}}))
    with pytest.raises(AdmiralError, match=r"trie is not needed.*admiral index"):
        hf_to_safetensors(trie, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_mask_without_a_row_is_left_out(fairseq, tmp_path, caplog):
    """Published GENRE directories have a mask token without an embedding row."""
    fairseq_to_hf(fairseq.write(tmp_path / "in", fairseq.Shape(mask="none")), tmp_path / "hf")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "hf")
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    tokenizer.save_pretrained(tmp_path / "hf")
    hf_to_fairseq(tmp_path / "hf", tmp_path / "out")
    assert "token '<mask>' has no row in the embedding and is left out" in caplog.text
    assert load(tmp_path / "out/model.pt")["args"].task == "translation"
    assert "<mask>" not in (tmp_path / "out/dict.source.txt").read_text()


def edit_config(**fields):
    def edit(directory):
        path = directory / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return edit


def edit_weights(**fields):
    def edit(directory):
        path = directory / "model.safetensors"
        tensors = load_file(path)
        for name, value in fields.items():
            if value is None:
                del tensors[name.replace("__", ".")]
            else:
                tensors[name.replace("__", ".")] = value
        save_file(tensors, path)

    return edit


def cut(name):
    def edit(directory):
        data = (directory / name).read_bytes()
        (directory / name).write_bytes(data[: len(data) // 2])

    return edit


def remove(name):
    return lambda directory: (directory / name).unlink()


def add_token(directory):
    tokenizer = AutoTokenizer.from_pretrained(directory)
    tokenizer.add_tokens(["a", "b", "c", "d"])
    tokenizer.save_pretrained(directory)


def no_unknown(directory):
    path = directory / "tokenizer_config.json"
    fields = json.loads(path.read_text())
    del fields["unk_token"]
    path.write_text(json.dumps(fields))


def rename_word(old, new):
    def edit(directory):
        path = directory / "tokenizer.json"
        fields = json.loads(path.read_text())
        fields["model"]["vocab"][new] = fields["model"]["vocab"].pop(old)
        path.write_text(json.dumps(fields))

    return edit


BAD = {
    "no config": (remove("config.json"), "config.json: no such file"),
    "config cut": (cut("config.json"), "config.json: cannot be read"),
    "other model": (edit_config(model_type="t5"), "field 'model_type': 't5' is not 'bart'"),
    "bad field": (edit_config(d_model="wide"), "is not a BART config"),
    "no weights": (remove("model.safetensors"), "holds no model.safetensors"),
    "weights cut": (cut("model.safetensors"), "model.safetensors: cannot be read"),
    "no tokenizer": (remove("tokenizer.json"), "in: its tokenizer"),
    "tokenizer cut": (cut("tokenizer.json"), "in: its tokenizer"),
    "missing tensor": (
        edit_weights(model__decoder__layers__0__fc1__bias=None),
        "model.decoder.layers.0.fc1.bias is missing",
    ),
    "other size": (edit_config(vocab_size=15), r"model.shared.weight has the shape \(14, 16\)"),
    "no embedding": (edit_weights(model__shared__weight=None), "model.shared.weight is missing"),
    "untied": (edit_weights(lm_head__weight=torch.ones(14, 16)), "embeddings differ"),
    "bias": (edit_weights(final_logits_bias=torch.ones(1, 14)), "no output bias"),
    "activation": (edit_config(activation_function="silu"), "'silu' has no equal"),
    "tokens without rows": (add_token, "'d' has the id 14, but the embedding has 14"),
    "no unknown": (no_unknown, "no token for fairseq's <unk>"),
    "name taken": (rename_word("an", "<s>"), "bears the name of one of fairseq's specials"),
}


@pytest.mark.filterwarnings("ignore:The tokenizer class")
@pytest.mark.parametrize("case", BAD)
def test_invalid_input_raises_and_leaves_nothing(tmp_path, case):
    damage, message = BAD[case]
    source = word_piece_directory(tmp_path / "in")
    damage(source)
    with pytest.raises(AdmiralError, match=message):
        hf_to_fairseq(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_tokenizer_of_another_model(tmp_path):
    source = word_piece_directory(tmp_path / "in")
    hf_to_fairseq(source, tmp_path / "out")
    rename_word("an", "am")(source)
    with pytest.raises(AdmiralError, match="the tokenizer has no token 'an'"):
        fairseq_to_hf(tmp_path / "out", tmp_path / "back", tokenizer=source)
    rename_word("am", "an")(source)
    AutoTokenizer.from_pretrained(source).add_tokens(["more"])
    add_token(source)
    with pytest.raises(AdmiralError, match="they are not the same"):
        fairseq_to_hf(tmp_path / "out", tmp_path / "back", tokenizer=source)


@pytest.mark.filterwarnings("ignore")  # fairseq's own, of old libraries
def test_real_fairseq_gives_the_same_logits(fairseq, tmp_path):
    """fairseq, if installed, loads the output and computes the same logits."""
    bart = pytest.importorskip("fairseq.models.bart")
    fairseq_to_hf(fairseq.write(tmp_path / "in", fairseq.Shape()), tmp_path / "hf")
    hf_to_fairseq(tmp_path / "hf", tmp_path / "out")
    with torch.serialization.safe_globals([argparse.Namespace]):
        theirs = bart.BARTModel.from_pretrained(
            str(tmp_path / "out"),
            gpt2_encoder_json=str(tmp_path / "out/encoder.json"),
            gpt2_vocab_bpe=str(tmp_path / "out/vocab.bpe"),
        )
    theirs.eval()
    text = " the [ berth ] in an"
    ids = AutoTokenizer.from_pretrained(tmp_path / "hf")(text, return_tensors="pt")["input_ids"]
    assert theirs.encode(text).tolist() == ids[0].tolist()
    model = BartForConditionalGeneration.from_pretrained(tmp_path / "hf").eval()
    previous = torch.tensor([[2, 0, 5, 9, 20]])
    with torch.no_grad():
        expected = theirs.model(ids, None, previous)[0]
        ours = model(input_ids=ids, decoder_input_ids=previous).logits
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)


def test_what_is_there_is_not_replaced(fairseq, tmp_path):
    source = fairseq.write(tmp_path / "in", fairseq.Shape())
    with pytest.raises(AdmiralError, match="in: exists already"):
        fairseq_to_hf(source, source)
    assert (source / "model.pt").exists()


def test_missing_folder(tmp_path):
    with pytest.raises(AdmiralError, match="no such directory"):
        hf_to_fairseq(tmp_path / "in", tmp_path / "out")
    with pytest.raises(AdmiralError, match="no such directory"):
        fairseq_to_hf(tmp_path / "in", tmp_path / "out", tokenizer=tmp_path)
