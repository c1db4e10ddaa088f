"""The loss of the verifier: marginal losses, unknown labels, and dropout from a pool."""

import random
from array import array
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from proofs.verifier.classifier_verifier import new_model
from proofs.verifier.evidence_verifier import EvidenceEncoder
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.data.examples import Example
from training.data.records import write_records
from training.verification import (
    POSSIBLE,
    UNKNOWN,
    ExampleSet,
    epoch_batches,
    marginal_losses,
    read_example_set,
)
from training.verification.verifier_program import (
    SENTENCE_WEIGHT,
    TOKEN_WEIGHT,
    EncodedExample,
    VerifierLoss,
    collate,
    encoded,
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
        EncodedExample(
            ids=array("H", [1] * n),
            markers=array("H"),
            claim=at,
            label=NEUTRAL,
            sentences=array("B"),
            tokens=array("B"),
            weight=w,
        )
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
    write_records(tmp_path / "examples.jsonl", examples)
    data = read_example_set("train", [tmp_path / "examples.jsonl"], encoder, encoded)
    assert data.examples == examples[:3]  # the others do not fit, or have no weight
    assert data.files[0].holds == {"s": 4}
    first, second, third = data.items
    assert list(first.sentences) == [REFUTED, UNKNOWN, REFUTED | ENTAILED]
    (words,) = encoder.encode([claim], [()])
    for (begin, end), label in zip(words.offsets, first.tokens, strict=True):
        expected = ENTAILED if end <= 4 else REFUTED if begin < 11 else UNKNOWN
        assert label == expected, claim[begin:end]
    assert set(second.tokens) == {ENTAILED}
    assert set(second.sentences) == {UNKNOWN}
    assert third.label == NEUTRAL | REFUTED
    batch = collate(data.items, encoder.special.pad)
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_classifier_directory(tmp_path_factory.mktemp("loss") / "start", labels=())


def loss_of(folder, dropout):
    return VerifierLoss(new_model(folder, 0)[0], dropout)


@pytest.fixture(scope="module")
def batch(folder):
    _, tokenizer = new_model(folder, 0)
    encoder = EvidenceEncoder.of(tokenizer, 48)
    sentences = (("Rome", "Rome is a city."), ("Oslo", "Oslo is not."))
    examples = [
        Example("Rome is a city.", sentences, "entailment", "s", ("entailment", "neutral")),
        Example("Oslo is a city.", sentences[:1], "neutral", "s", (None,)),
    ]
    path = folder.parent / "examples.jsonl"
    write_records(path, examples)
    items = read_example_set("train", [path], encoder, encoded).items
    return collate(items, encoder.special.pad)


@torch.no_grad()
def test_the_loss_is_the_weighted_sum_of_three_means(folder, batch):
    module = loss_of(folder, 0.0).eval()
    whole, sentences, tokens = module.scores(batch)
    expected = marginal_losses(whole, batch.labels).mean()
    for logits, labels, weight in (
        (sentences, batch.sentences, SENTENCE_WEIGHT),
        (tokens, batch.token_labels, TOKEN_WEIGHT),
    ):
        known = labels != UNKNOWN
        expected = expected + weight * marginal_losses(logits[known], labels[known]).mean()
    assert float(module(batch)) == pytest.approx(float(expected), rel=1e-5)


def test_unknown_labels_give_neither_loss_nor_gradient(folder, batch):
    module = loss_of(folder, 0.0)
    unknown = replace(
        batch,
        sentences=torch.full_like(batch.sentences, UNKNOWN),
        token_labels=torch.full_like(batch.token_labels, UNKNOWN),
    )
    module(unknown).backward()
    for head in (module.model.sentence_head, module.model.token_head):
        assert head.weight.grad is not None
        assert float(head.weight.grad.abs().max()) < 1e-6
    with torch.no_grad():
        whole, _, _ = module.scores(unknown)
        expected = float(marginal_losses(whole, unknown.labels).mean())
        assert float(module(unknown)) == pytest.approx(expected, abs=1e-5)
