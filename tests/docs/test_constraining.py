"""The code of docs/constraining.md is run as it stands, on tiny untrained models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel

from admiral.requirements import minilm_directory
from training.warm_start import mini_tokenizer

PAGE = Path(__file__).parents[2] / "docs" / "constraining.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
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


def test_the_code_does_what_the_page_says(checkpoints, capsys):
    assert len(BLOCKS) == 3
    names: dict[str, object] = {}
    for block, (name, directory) in zip(BLOCKS[:2], checkpoints.items(), strict=True):
        assert block.count(name) == 1
        exec(compile(block.replace(name, str(directory)), str(PAGE), "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) == 2
        assert set(printed) <= STRINGS
    for seed in range(5):
        torch.manual_seed(seed)
        for weights in names["model"].parameters():  # type: ignore[attr-defined]
            torch.nn.init.normal_(weights)
        exec(compile(BLOCKS[2], str(PAGE), "exec"), names)
        (printed,) = capsys.readouterr().out.splitlines()
        terms = [term.strip() for term in printed.split(";")]
        assert 1 <= len(terms) <= 3
        for term in terms:
            assert term in {string.lower() for string in STRINGS} or (
                term in QUESTION and len(term.split()) <= 3
            )


def test_the_first_example_is_short():
    lines = [line for line in BLOCKS[0].splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 20
