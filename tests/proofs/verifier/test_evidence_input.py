"""The verifier's input beside a slow oracle that builds the ids of one claim."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from proofs.verifier.evidence_input import (
    MAX_CLAIM_TOKENS,
    MAX_SENTENCE_TOKENS,
    EvidenceEncoder,
    EvidenceInput,
)
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

TEXTS = st.text(alphabet="Rome is a city.\ud800é12 ", max_size=40)
SENTENCES = st.lists(st.tuples(st.sampled_from(("", "Rome", "Oslo is")), TEXTS), max_size=4)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = write_classifier_directory(tmp_path_factory.mktemp("input") / "model")
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@dataclass
class Oracle:
    """Builds an input token by token."""

    tokenizer: Any
    length: int

    def words(self, text: str) -> list[int]:
        clean = "".join("?" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
        ids: list[int] = self.tokenizer(clean, add_special_tokens=False)["input_ids"]
        return ids

    def encode(self, claim: str, sentences: list[tuple[str, str]]) -> tuple[list[int], int, bool]:
        """Return the ids, the number of sentences that are read, and whether something is cut."""
        own = self.words(claim)
        kept = own[: min(MAX_CLAIM_TOKENS, self.length - 3)]
        ids, read, cut = [self.tokenizer.cls_token_id], 0, kept != own
        end = [self.tokenizer.sep_token_id, *kept, self.tokenizer.sep_token_id]
        for title, text in sentences:
            words = self.words(f"{title}: {text}" if title else text)
            room = self.length - len(ids) - len(end) - 1
            if room < 0 or (words and room < 1):
                return ids + end, read, True
            part = words[: min(room, MAX_SENTENCE_TOKENS)] if words else []
            cut = cut or part != words
            ids += [self.tokenizer.mask_token_id, *part]
            read += 1
        return ids + end, read, cut


@given(TEXTS, SENTENCES, st.integers(16, 90))
def test_inputs_are_those_of_the_oracle(
    tokenizer: Any, claim: str, sentences: list[tuple[str, str]], length: int
) -> None:
    (one,) = EvidenceEncoder.of(tokenizer, length).encode([claim], [sentences])
    ids, read, cut = Oracle(tokenizer, length).encode(claim, sentences)
    assert (one.ids, len(one.markers), one.cut) == (ids, read, cut)
    check_positions(one, tokenizer, claim)


def check_positions(one: EvidenceInput, tokenizer: Any, claim: str) -> None:
    mask, separator = tokenizer.mask_token_id, tokenizer.sep_token_id
    assert one.markers == [at for at, token in enumerate(one.ids) if token == mask]
    assert one.ids[one.claim - 1] == one.ids[-1] == separator
    assert one.segments == [0] * one.claim + [1] * (len(one.ids) - one.claim)
    assert len(one.offsets) == len(one.ids) - one.claim - 1
    for (begin, end), token in zip(one.offsets, one.ids[one.claim : -1], strict=True):
        word = tokenizer.convert_ids_to_tokens(token).removeprefix("##")
        if word != "[UNK]":  # accents are removed
            assert claim[begin:end].lower().replace("é", "e").replace("\ud800", "?") == word


def test_sentences_are_read_until_the_input_is_full(tokenizer: Any) -> None:
    encoder = EvidenceEncoder.of(tokenizer, 24)
    (one,) = encoder.encode(["Rome is a city."], [[("", "Rome is a city.")] * 9])
    assert one.cut
    assert len(one.ids) <= 24
    assert 1 < len(one.markers) < 9
    (long,) = EvidenceEncoder.of(tokenizer, 512).encode(["Rome " * 200], [[("", "Rome " * 200)]])
    assert long.cut
    (claim,) = EvidenceEncoder.of(tokenizer, 24).encode(["Rome " * 40], [[("", "Oslo")]])
    assert claim.cut
    assert (len(claim.ids), len(claim.offsets), claim.markers) == (24, 21, [])
    assert len(long.offsets) == MAX_CLAIM_TOKENS
    assert long.claim - 3 == MAX_SENTENCE_TOKENS


def test_the_marker_is_an_unused_token_where_there_is_one(tmp_path: Path) -> None:
    folder = write_classifier_directory(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.add_tokens(["[unused1]"], special_tokens=True)
    (one,) = EvidenceEncoder.of(tokenizer, 32).encode(["Rome"], [[("", "Oslo")]])
    assert one.ids[one.markers[0]] == tokenizer.convert_tokens_to_ids("[unused1]")


def test_a_tokenizer_without_a_special_token_is_refused(tmp_path: Path) -> None:
    folder = write_classifier_directory(tmp_path / "model")
    path = folder / "tokenizer_config.json"
    path.write_text(path.read_text().replace(', "mask_token": "[MASK]"', ""))
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    with pytest.raises(ValueError, match="has no mask_token; choose an encoder such as BERT"):
        EvidenceEncoder.of(tokenizer, 32)
