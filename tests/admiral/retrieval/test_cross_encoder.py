"""Batches of inputs of similar length."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document
from admiral.requirements import minilm_directory
from admiral.retrieval.rerankers import CrossEncoderReranker, length_batches, reranker_inputs
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 120))
def test_batches_contain_every_input_once_and_keep_to_the_budget(lengths, budget):
    batches = length_batches(lengths, budget)
    order = [i for batch in batches for i in batch]
    assert order == sorted(range(len(lengths)), key=lambda i: lengths[i])
    for batch in batches:
        assert len(batch) == 1 or lengths[batch[-1]] * len(batch) <= budget
    for batch, following in pairwise(batches):
        # One more input would exceed the budget.
        assert lengths[following[0]] * (len(batch) + 1) > budget


TOKENS = SafeTokenizer(mini_tokenizer(minilm_directory()))
WORDS = st.lists(st.sampled_from(["rain", "[SEP]", "river", "1973", "[ x ]"]), max_size=40)
SENTENCES = st.lists(WORDS.map(" ".join), max_size=12)


@given(WORDS.map(" ".join), SENTENCES, st.integers(64, 200))
def test_inputs_contain_every_sentence_once_and_fit(claim, sentences, length):
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


def test_scores_do_not_depend_on_the_batch(system):
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


def test_the_claim_limit_is_the_number_of_tokens_read(system):
    reranker = CrossEncoderReranker(system.checkpoint)
    (limit,) = reranker.claim_limits.values()
    for words, equal in ((limit - 1, False), (limit, True)):
        claims = ["river " * words + end for end in ("paris", "film")]
        first, second = reranker.score(claims, [DOCUMENTS[:1]] * 2, [[], []])
        assert ([s.score for s in first] == [s.score for s in second]) == equal
