"""Batches: cost, splitting, and collation."""

from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from transformers.models.bart.modeling_bart import BartEncoder

from admiral.errors import AdmiralError
from admiral.retrieval.rerankers import RerankerInput
from tests.training.tiny import elsewhere, prepare
from training.loop.batch_loading import split_to_cost
from training.multitask.multitask_program import train
from training.multitask.sample_batches import (
    IGNORED,
    Counts,
    SequenceBatch,
    collate,
    cost,
    one_epoch,
)
from training.multitask.sample_encoding import GenerationExample, RerankingExample
from trie.model.safe_tokenizer import TASKS

PAIRS = st.lists(
    st.builds(
        GenerationExample,
        st.lists(st.integers(3, 9), min_size=1, max_size=9),
        st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=5), min_size=1, max_size=3),
        st.just([]),
    ),
    min_size=1,
    max_size=12,
)


@given(PAIRS, st.integers(1, 200))
def test_the_parts_of_a_batch_keep_its_order_and_the_ceiling(pairs, ceiling):
    parts = split_to_cost(pairs, ceiling, cost)
    assert [pair for part in parts for pair in part] == pairs
    assert all(len(part) == 1 or cost(part) <= ceiling for part in parts)
    if cost(pairs) <= ceiling:
        assert parts == [pairs]


@given(PAIRS)
def test_the_cost_counts_padded_tokens(pairs):
    batch = collate(pairs, 1, 2)
    assert isinstance(batch, SequenceBatch)
    assert cost(pairs) == batch.input_ids.numel() + 2 * batch.labels.numel()
    assert sum(pair.length for pair in pairs) == int((batch.labels != IGNORED).sum())
    assert torch.equal(batch.segments >= 0, batch.labels != IGNORED)


def test_a_batch_holds_examples_of_one_kind():
    mixed = [
        GenerationExample([5], [[2]], []),
        RerankingExample([RerankerInput([5, 6], [(0, 0, 1), (1, 1, 2)])], [[True, False]]),
    ]
    for items in one_epoch(mixed, 1000, 1000, 0):
        collate(items, 1, 2)
    with pytest.raises(ValueError, match="mixes generation and reranking"):
        collate(mixed, 1, 2)


def test_decoder_inputs_are_the_labels_shifted_by_one():
    batch = collate(
        [GenerationExample([5], [[6, 7, 2]], []), GenerationExample([5, 5], [[8, 2]], [(0, 1)])],
        1,
        2,
    )
    assert isinstance(batch, SequenceBatch)
    assert batch.decoder_ids.tolist() == [[2, 6, 7], [2, 8, 1]]
    assert batch.labels.tolist() == [[6, 7, 2], [8, 2, IGNORED]]
    assert batch.copies.nonzero().tolist() == [[1, 0, 1]]
    counts = Counts.of([GenerationExample([5], [[6, 7]], [(0, 0), (0, 1), (1, 0)])])
    assert counts == Counts(tokens=2, copied=2)


def test_all_targets_of_an_input_are_packed_into_one_row():
    pair = GenerationExample([5], [[6, 2], [7, 8, 2]], [])
    batch = collate([pair, GenerationExample([5], [[9, 2]], [])], 1, 0)
    assert isinstance(batch, SequenceBatch)
    assert batch.labels.tolist() == [[6, 2, 7, 8, 2], [9, 2, *[IGNORED] * 3]]
    assert batch.decoder_ids.tolist() == [[0, 6, 0, 7, 8], [0, 9, 1, 1, 1]]
    assert batch.positions.tolist() == [[0, 1, 0, 1, 2], [0, 1, 0, 0, 0]]
    assert batch.segments.tolist() == [[0, 0, 1, 1, 1], [0, 0, -1, -1, -1]]
    assert Counts.of([pair]).tokens == 2.5


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("run"))


@contextmanager
def small_device(most):
    """Run out of memory in training for inputs of more than `most` tokens, including padding.

    Yields a list to which the sizes of such inputs are appended.
    """
    too_large = []

    def check(module, inputs):
        if not isinstance(module, nn.LayerNorm) or not torch.is_grad_enabled():
            return
        size = inputs[0].shape[0] * inputs[0].shape[1]
        if size > most:
            too_large.append(size)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    handle = register_module_forward_pre_hook(check)
    try:
        yield too_large
    finally:
        handle.remove()


def test_training_on_halved_batches_has_the_same_result(settings, caplog):
    whole, parts = elsewhere(settings, "whole"), elsewhere(settings, "parts")
    train(whole, TASKS)
    with small_device(150) as too_large:
        train(parts, TASKS)
    assert too_large
    assert "batches that cost more than" in caplog.text
    ours = load_file(Path(whole.out) / "model.safetensors")
    theirs = load_file(Path(parts.out) / "model.safetensors")
    for name, value in ours.items():
        if not name.endswith("k_proj.bias"):  # attention does not depend on it
            torch.testing.assert_close(theirs[name], value, rtol=2e-2, atol=2e-3)


def test_the_error_in_evaluation_names_the_settings_to_lower(settings):
    def check(module, _):
        if isinstance(module, nn.LayerNorm) and not torch.is_grad_enabled():
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    handle = register_module_forward_pre_hook(check)
    try:
        with pytest.raises(AdmiralError, match="Lower eval_beams, proof_beams"):
            train(elsewhere(settings, "beams"), TASKS)
    finally:
        handle.remove()


def test_too_little_memory_for_one_sample_is_an_error(settings):
    with small_device(4), pytest.raises(AdmiralError, match="a single sample"):
        train(elsewhere(settings, "tiny"), TASKS)


def test_other_device_errors_are_raised(settings):
    def broken(module, _):
        if isinstance(module, BartEncoder):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    handle = register_module_forward_pre_hook(broken)
    try:
        with pytest.raises(RuntimeError, match="illegal memory access"):
            train(elsewhere(settings, "broken"), TASKS)
    finally:
        handle.remove()
