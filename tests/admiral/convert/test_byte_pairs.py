"""GPT-2's numbering, derived from merges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from admiral.convert.byte_pairs import BytePairs, byte_letters, merges_of


def test_letters_are_those_of_the_tokenizers_library() -> None:
    assert sorted(byte_letters()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    # The first and the last of GPT-2's 256: "!", then the soft hyphen after the control bytes.
    assert (byte_letters()[0], byte_letters()[255]) == ("!", "\u0143")
    assert byte_letters()[188 + 32] == "\u0120"  # the space


def test_numbers_follow_the_merges(fairseq) -> None:
    assert BytePairs.from_merges(fairseq.merges).ids == fairseq.encoder()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), unique=True))
def test_files_come_back(tmp_path_factory, merges: list[tuple[str, str]]) -> None:
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
def test_other_tokenizers_are_told_apart(tokenizer: dict) -> None:
    assert merges_of(tokenizer) is None


@pytest.mark.parametrize("merge", ["a b", ["a", "b"]])
def test_both_spellings_of_a_merge(merge: object) -> None:
    model = {"type": "BPE", "merges": [merge]}
    assert merges_of({"model": model, "pre_tokenizer": BYTE_LEVEL}) == (("a", "b"),)


def test_presence_needs_both(tmp_path: Path) -> None:
    BytePairs.from_merges([]).write(tmp_path)
    assert BytePairs.present(tmp_path)
    (tmp_path / "vocab.bpe").unlink()
    assert not BytePairs.present(tmp_path)
