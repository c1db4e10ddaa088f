"""Inputs of the cross-encoder cover each document; scores do not depend on the batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral
from admiral.records import Document
from admiral.reranking.cross_encoder import CrossEncoderReranker
from admiral.reranking.encoder_inputs import reranker_inputs
from admiral.reranking.minilm_files import minilm_directory
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer

TOKENS = SafeTokenizer(mini_tokenizer(minilm_directory()))
WORDS = st.lists(st.sampled_from(["rain", "[SEP]", "river", "1973", "[ x ]"]), max_size=40)
SENTENCES = st.lists(WORDS.map(" ".join), max_size=12)


@given(WORDS.map(" ".join), SENTENCES, st.integers(64, 200))
def test_inputs_contain_every_sentence_once_and_fit(
    claim: str, sentences: list[str], length: int
) -> None:
    inputs = list(reranker_inputs(TOKENS, claim, [("T", "chosen")], "Title", sentences, length))
    numbers = [number for item in inputs for number, _, _ in item.spans]
    assert numbers == [i for i, s in enumerate(sentences) if s.strip()]
    for item in inputs:
        assert len(item.ids) <= length
        assert item.ids[-1] == TOKENS.eos
        for number, start, end in item.spans:
            whole = TOKENS.encode(sentences[number])
            assert item.ids[start:end] == whole[: end - start]
            assert end - start == len(whole) or len(item.spans) == 1


DOCUMENTS = [
    Document("Rome", ("Rome is the capital of Italy.", "", "It lies on the Tiber.")),
    Document("Tiber", ("The Tiber flows through Rome to the sea. " * 6,) * 9),
    Document("Empty", ()),
]


def test_scores_do_not_depend_on_the_batch(system: Admiral) -> None:
    claim = "The capital of Italy lies on a river."
    small = CrossEncoderReranker(system.checkpoint, batch_tokens=1)
    large = CrossEncoderReranker(system.checkpoint, batch_tokens=100_000)
    first = small.score([claim, "Rain."], [DOCUMENTS, DOCUMENTS[:1]], [[], []])
    second = large.score([claim, "Rain."], [DOCUMENTS, DOCUMENTS[:1]], [[], []])
    for small_scores, large_scores in zip(first, second, strict=True):
        scores = {s.key: s.score for s in large_scores}
        assert {s.key: s.score for s in small_scores} == pytest.approx(scores, abs=1e-4)
        assert [s.score for s in small_scores] == sorted(
            (s.score for s in small_scores), reverse=True
        )
    assert {s.key for s in first[0]} == {("Rome", 0), ("Rome", 2)} | {
        ("Tiber", i) for i in range(9)
    }
    assert large.score([claim], [[]], [[]]) == [[]]


def test_the_claim_limit_is_the_number_of_tokens_read(system: Admiral) -> None:
    reranker = CrossEncoderReranker(system.checkpoint)
    (limit,) = reranker.claim_limits.values()
    for words, equal in ((limit - 1, False), (limit, True)):
        claims = ["river " * words + end for end in ("paris", "film")]
        first, second = reranker.score(claims, [DOCUMENTS[:1]] * 2, [[], []])
        assert ([s.score for s in first] == [s.score for s in second]) == equal
