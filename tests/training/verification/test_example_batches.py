"""Encoded examples and their batches: labels, groups, budget, weights and seed."""

import random
from array import array
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from admiral.errors import AdmiralError
from proofs.verifier.evidence_verifier import EvidenceEncoder
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.data.examples import Example, write_examples
from training.verification.example_batches import (
    POSSIBLE,
    UNKNOWN,
    EncodedExample,
    ExampleSet,
    batches_of,
    collate,
    epoch_batches,
    read_example_set,
)

ENTAILED, NEUTRAL, REFUTED = (POSSIBLE[n] for n in ("entailment", "neutral", "contradiction"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = write_classifier_directory(tmp_path_factory.mktemp("tokenizer") / "model")
    return EvidenceEncoder.of(AutoTokenizer.from_pretrained(folder, local_files_only=True), 32)


def example_set(items):
    """Return examples that the position of their claim tells apart."""
    examples = [Example("c", (), "neutral", "s", group=group) for _, _, group in items]
    encoded = [
        EncodedExample(array("H", [1] * n), array("H"), at, NEUTRAL, array("B"), array("B"), w)
        for at, (n, w, _) in enumerate(items)
    ]
    return ExampleSet(examples, encoded, [])


ITEMS = st.lists(
    st.tuples(
        st.integers(1, 50), st.sampled_from((0.5, 1.0, 2.25)), st.sampled_from(("", "a", "b", "c"))
    ),
    max_size=30,
)


@given(ITEMS, st.integers(1, 300), st.integers(0, 3))
def test_an_epoch_holds_each_example_as_often_as_its_weight_says(items, budget, seed):
    batches = epoch_batches(example_set(items), budget, random.Random(seed))
    counts = Counter(item.claim for batch in batches for item in batch)
    for number, (_, weight, _) in enumerate(items):
        assert int(weight) <= counts[number] <= int(weight) + (weight % 1 > 0)
    for batch in batches:
        groups = {items[item.claim][2] for item in batch}
        is_single = len(batch) == 1 or (len(groups) == 1 and "" not in groups)
        assert is_single or len(batch) * max(len(item.ids) for item in batch) <= budget


@given(ITEMS, st.integers(1, 300), st.integers(0, 3))
def test_a_group_stands_in_one_batch(items, budget, seed):
    items = [(length, 1.0, group) for length, _, group in items[:8]]
    batches = epoch_batches(example_set(items), budget, random.Random(seed))
    places = [(items[i.claim][2], at) for at, batch in enumerate(batches) for i in batch]
    for group in "abc":
        assert len({at for name, at in places if name == group}) <= 1


def test_the_stream_depends_on_the_seed_alone():
    data = example_set([(n % 20 + 1, 0.5, "") for n in range(60)])

    def numbers(seed):
        return [[item.claim for item in batch] for batch in islice(batches_of(data, 40, seed), 50)]

    assert numbers(0) == numbers(0)
    assert numbers(0) != numbers(1)


def test_labels_are_those_of_the_example(encoder, tmp_path):
    claim = "Rome is not a city"
    sentences = (("", "Rome is a city."), ("", "Oslo"), ("", "Bern"))
    examples = [
        Example(
            claim,
            sentences,
            "contradiction",
            "s",
            ("contradiction", None, "relevant"),
            ((0, 4, "entailment"), (5, 11, "contradiction")),
        ),
        Example(claim, sentences[1:], "entailment", "s"),
        Example(claim, sentences, "not_entailment", "s"),
        Example("Rome " * 40, sentences, "neutral", "s"),
        Example(claim, sentences, "neutral", "s", weight=0.0),
    ]
    write_examples(tmp_path / "examples.jsonl", examples)
    data = read_example_set("train", [tmp_path / "examples.jsonl"], encoder)
    assert data.examples == examples[:3]  # the others do not fit, or have no weight
    assert data.files[0].samples == {"s": 4}
    first, second, third = data.items
    assert list(first.sentences) == [REFUTED, UNKNOWN, REFUTED | ENTAILED]
    (words,) = encoder.encode([claim], [()])
    for (begin, end), label in zip(words.offsets, first.tokens, strict=True):
        expected = ENTAILED if end <= 4 else REFUTED if begin < 11 else UNKNOWN
        assert label == expected, claim[begin:end]
    assert set(second.tokens) == {ENTAILED}
    assert set(second.sentences) == {UNKNOWN}
    assert third.label == NEUTRAL | REFUTED
    batch = collate(data.items, encoder)
    assert batch.ids.shape == batch.mask.shape == batch.segments.shape
    assert batch.labels.tolist() == [REFUTED, ENTAILED, NEUTRAL | REFUTED]
    assert batch.markers.shape == batch.sentences.shape == (3, 3)
    assert batch.sentences[1].tolist() == [UNKNOWN] * 3
    for row, item in enumerate(data.items):
        length = len(item.ids)
        assert batch.ids[row, :length].tolist() == item.ids.tolist()
        assert batch.segments[row, :length].tolist() == item.segments
        assert batch.tokens[row].tolist()[: len(item.tokens)] == list(
            range(item.claim, item.claim + len(item.tokens))
        )


def test_without_an_example_that_fits_there_is_an_error(encoder, tmp_path):
    write_examples(tmp_path / "long.jsonl", [Example("Rome " * 40, (), "neutral", "s")])
    with pytest.raises(AdmiralError, match=r"long\.jsonl: no example fits the model"):
        read_example_set("train", [tmp_path / "long.jsonl"], encoder)
