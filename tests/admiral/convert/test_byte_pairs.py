"""GPT-2's token ids, derived from merges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from admiral.convert.vocabulary import BytePairs, byte_alphabet, gpt2_merges


def test_alphabet_is_that_of_the_tokenizers_library() -> None:
    assert sorted(byte_alphabet()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    # The first and the last of GPT-2's 256: "!", then the soft hyphen after the control bytes.
    assert (byte_alphabet()[0], byte_alphabet()[255]) == ("!", "\u0143")
    assert byte_alphabet()[188 + 32] == "\u0120"  # the space


def test_ids_follow_from_the_merges(fairseq) -> None:
    assert BytePairs.from_merges(fairseq.merges).ids == fairseq.encoder()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), unique=True))
def test_files_round_trip(tmp_path_factory, merges: list[tuple[str, str]]) -> None:
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
def test_other_tokenizers_have_no_gpt2_merges(tokenizer: dict) -> None:
    assert gpt2_merges(tokenizer) is None


@pytest.mark.parametrize("merge", ["a b", ["a", "b"]])
def test_both_notations_of_a_merge(merge: object) -> None:
    model = {"type": "BPE", "merges": [merge]}
    assert gpt2_merges({"model": model, "pre_tokenizer": BYTE_LEVEL}) == (("a", "b"),)


def test_exist_in_needs_both_files(tmp_path: Path) -> None:
    BytePairs.from_merges([]).write(tmp_path)
    assert BytePairs.exist_in(tmp_path)
    (tmp_path / "vocab.bpe").unlink()
    assert not BytePairs.exist_in(tmp_path)
