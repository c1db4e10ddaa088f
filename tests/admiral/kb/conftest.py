"""Small corpora and a tokenizer for the tests of the knowledge base."""

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from trie import SafeTokenizer


@pytest.fixture
def write_jsonl(tmp_path):
    def write(records, name="corpus.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return path

    return write


@pytest.fixture
def birds(write_jsonl):
    return write_jsonl(
        [
            {
                "title": "Great tit",
                "sentences": ["The great tit is a bird.", "", "It eats seeds."],
                "links": [["Bird"], [], ["Seed", "Bird"]],
            },
            {"title": "Bird", "text": "Birds lay eggs. Most of them fly."},
            {"title": "Seed", "sentences": []},
        ],
        "birds.jsonl",
    )


@pytest.fixture
def tokens():
    words = ["<pad>", "</s>", "<unk>", "Great", "tit", "Bird", "Seed", "a"]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return SafeTokenizer(
        PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="</s>"
        )
    )
