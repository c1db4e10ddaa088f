"""GPT-2's token ids, derived from merges."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.convert.vocabulary import BytePairs, gpt2_merges


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), unique=True))
def test_files_round_trip(tmp_path_factory, merges):
    directory = tmp_path_factory.mktemp("bpe")
    pairs = BytePairs.from_merges(merges)
    pairs.write(directory)
    again = BytePairs.read(directory)
    assert again.merges == tuple(merges)
    assert again.ids == pairs.ids == json.loads((directory / "encoder.json").read_text())


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}


@pytest.mark.parametrize(
    "tokenizer",
    [
        {},
        {"model": {"type": "WordPiece"}, "pre_tokenizer": BYTE_LEVEL},
        {"model": {"type": "BPE", "merges": []}, "pre_tokenizer": {"type": "Metaspace"}},
        {
            "model": {"type": "BPE", "merges": []},
            "pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True},
        },
        {
            "model": {"type": "BPE", "merges": []},
            "pre_tokenizer": BYTE_LEVEL,
            "normalizer": {"type": "NFC"},
        },
    ],
)
def test_other_tokenizers_have_no_gpt2_merges(tokenizer):
    assert gpt2_merges(tokenizer) is None


@pytest.mark.parametrize("merge", ["a b", ["a", "b"]])
def test_both_notations_of_a_merge(merge):
    model = {"type": "BPE", "merges": [merge]}
    assert gpt2_merges({"model": model, "pre_tokenizer": BYTE_LEVEL}) == (("a", "b"),)
