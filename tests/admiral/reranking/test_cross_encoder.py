"""The cross-encoder: passes that cover documents, and scores that do not depend on the batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral
from admiral.records import Document
from admiral.reranking.cross_encoder import CrossEncoderReranker, claim_tokens
from admiral.reranking.encoder_inputs import rerank_passes
from admiral.reranking.similarity import minilm_directory
from training.warm_start import mini_tokenizer
from trie import Tokens

TOKENS = Tokens(mini_tokenizer(minilm_directory()))
WORDS = st.lists(st.sampled_from(["rain", "[SEP]", "river", "1973", "[ x ]"]), max_size=40)
SENTENCES = st.lists(WORDS.map(" ".join), max_size=12)


@given(WORDS.map(" ".join), SENTENCES, st.integers(64, 200))
def test_passes_hold_every_sentence_once_and_fit(
    claim: str, sentences: list[str], length: int
) -> None:
    passes = list(rerank_passes(TOKENS, claim, [("T", "chosen")], "Title", sentences, length))
    numbers = [number for one in passes for number, _, _ in one.spans]
    assert numbers == [i for i, s in enumerate(sentences) if s.strip()]
    for one in passes:
        assert len(one.ids) <= length
        assert one.ids[-1] == TOKENS.eos
        for number, start, end in one.spans:
            whole = TOKENS.encode(sentences[number])
            assert one.ids[start:end] == whole[: end - start]
            assert end - start == len(whole) or len(one.spans) == 1


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
    for one, other in zip(first, second, strict=True):
        scores = {s.key: s.score for s in other}
        assert {s.key: s.score for s in one} == pytest.approx(scores, abs=1e-4)
        assert [s.score for s in one] == sorted((s.score for s in one), reverse=True)
    assert {s.key for s in first[0]} == {("Rome", 0), ("Rome", 2)} | {
        ("Tiber", i) for i in range(9)
    }
    assert large.score([claim], [[]], [[]]) == [[]]


def test_so_many_tokens_of_a_claim_are_read(system: Admiral) -> None:
    reranker, room = CrossEncoderReranker(system.checkpoint), claim_tokens(system.checkpoint)
    for words, alike in ((room - 1, False), (room, True)):
        claims = ["river " * words + end for end in ("paris", "film")]
        one, other = reranker.score(claims, [DOCUMENTS[:1]] * 2, [[], []])
        assert ([s.score for s in one] == [s.score for s in other]) == alike
