"""The loss of the verifier: marginal losses, unknown labels, and dropout from a pool."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from proofs.verifier.evidence_model import new_model
from proofs.verifier.evidence_verifier import EvidenceEncoder
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.data.examples import Example, write_examples
from training.verification.example_batches import (
    POSSIBLE,
    UNKNOWN,
    Counts,
    collate,
    read_example_set,
)
from training.verification.verifier_loss import (
    SENTENCE_WEIGHT,
    TOKEN_WEIGHT,
    DropoutPool,
    PooledDropout,
    VerifierLoss,
    marginal_losses,
)


def counts(batch):
    known = (int((labels != UNKNOWN).sum()) for labels in (batch.sentences, batch.token_labels))
    return Counts(len(batch.labels), *known)


@given(
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.sampled_from((*POSSIBLE.values(), UNKNOWN)),
)
def test_losses_are_those_of_the_sum_of_possible_labels(scores, bits):
    logits = torch.tensor(scores, dtype=torch.float64)
    total = sum(p for at, p in enumerate(logits.softmax(0).tolist()) if bits >> at & 1)
    loss = float(marginal_losses(logits, torch.tensor(bits)))
    assert loss == pytest.approx(-torch.tensor(total, dtype=torch.float64).log().item(), abs=1e-9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_classifier_directory(tmp_path_factory.mktemp("loss") / "start", labels=())


def loss_of(folder, dropout):
    return VerifierLoss(new_model(folder, 0)[0], dropout)


@pytest.fixture(scope="module")
def encoded(folder):
    _, tokenizer = new_model(folder, 0)
    encoder = EvidenceEncoder.of(tokenizer, 48)
    sentences = (("Rome", "Rome is a city."), ("Oslo", "Oslo is not."))
    examples = [
        Example("Rome is a city.", sentences, "entailment", "s", ("entailment", "neutral")),
        Example("Oslo is a city.", sentences[:1], "neutral", "s", (None,)),
    ]
    path = folder.parent / "examples.jsonl"
    write_examples(path, examples)
    return read_example_set("train", [path], encoder).items, encoder


@pytest.fixture(scope="module")
def batch(encoded):
    return collate(*encoded)


@torch.no_grad()
def test_the_losses_of_parts_add_up(folder, encoded, batch):
    items, encoder = encoded
    module = loss_of(folder, 0.0).eval()
    whole = Counts.of(items)
    assert whole == counts(batch)
    parts = [float(module(collate([item], encoder), whole)) for item in items]
    assert sum(parts) == pytest.approx(float(module(batch, whole)), rel=1e-5)


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
    assert float(module(batch, counts(batch))) == pytest.approx(float(expected), rel=1e-5)


def test_unknown_labels_give_neither_loss_nor_gradient(folder, batch):
    module = loss_of(folder, 0.0)
    unknown = replace(
        batch,
        sentences=torch.full_like(batch.sentences, UNKNOWN),
        token_labels=torch.full_like(batch.token_labels, UNKNOWN),
    )
    module(unknown, counts(unknown)).backward()
    for head in (module.model.sentence_head, module.model.token_head):
        assert head.weight.grad is not None
        assert float(head.weight.grad.abs().max()) < 1e-7
    with torch.no_grad():
        whole, _, _ = module.scores(unknown)
        expected = float(marginal_losses(whole, unknown.labels).mean())
        assert float(module(unknown, counts(unknown))) == pytest.approx(expected, abs=1e-5)


def test_dropout_keeps_the_mean_and_is_off_in_evaluation():
    torch.manual_seed(0)
    layer = PooledDropout(DropoutPool(0.25, 0))
    values = torch.ones(500, 400)
    dropped = layer(values)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert float(dropped.mean()) == pytest.approx(1, abs=0.02)
    assert not torch.equal(dropped, layer(values))
    torch.manual_seed(0)
    assert torch.equal(layer(values), dropped)
    assert torch.equal(layer.eval()(values), values)
    assert torch.equal(PooledDropout(DropoutPool(0.0, 0))(values), values)


def test_a_mask_may_be_larger_than_half_of_the_pool():
    layer = PooledDropout(DropoutPool(0.5, 0))
    values = torch.ones(3, 1 << 20)
    assert float(layer(values).mean()) == pytest.approx(1, abs=0.02)


@torch.no_grad()
def test_only_hidden_states_are_dropped(folder, batch):
    module = loss_of(folder, 0.3)
    kinds = {name: layer for name, layer in module.named_modules() if "dropout" in name}
    assert sum(isinstance(layer, PooledDropout) for layer in kinds.values()) > 2
    for name, layer in kinds.items():
        if isinstance(layer, nn.Dropout):
            assert "attention.self" in name
            assert layer.p == 0
    torch.manual_seed(0)
    first = float(module(batch, counts(batch)))
    assert first != float(module(batch, counts(batch)))
    torch.manual_seed(0)
    assert first == float(module(batch, counts(batch)))
    module.eval()
    assert float(module(batch, counts(batch))) == float(module(batch, counts(batch)))
