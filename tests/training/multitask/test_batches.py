"""Batches: cost, splitting, and collation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.retrieval.cross_encoder import RerankerInput
from training.loop.batch_loading import split_to_cost
from training.multitask.sample_batches import (
    IGNORED,
    Counts,
    SequenceBatch,
    collate,
    cost,
    one_epoch,
)
from training.multitask.sample_encoding import GenerationExample, RerankingExample

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
def test_the_parts_of_a_batch_keep_its_order_and_the_ceiling(
    pairs: list[GenerationExample], ceiling: int
) -> None:
    parts = split_to_cost(pairs, ceiling, cost)
    assert [pair for part in parts for pair in part] == pairs
    assert all(len(part) == 1 or cost(part) <= ceiling for part in parts)
    if cost(pairs) <= ceiling:
        assert parts == [pairs]


@given(PAIRS)
def test_the_cost_counts_padded_tokens(pairs: list[GenerationExample]) -> None:
    batch = collate(pairs, 1, 2)
    assert isinstance(batch, SequenceBatch)
    assert cost(pairs) == batch.input_ids.numel() + 2 * batch.labels.numel()
    assert sum(pair.length for pair in pairs) == int((batch.labels != IGNORED).sum())
    assert torch.equal(batch.segments >= 0, batch.labels != IGNORED)


def test_a_batch_holds_examples_of_one_kind() -> None:
    mixed = [
        GenerationExample([5], [[2]], []),
        RerankingExample([RerankerInput([5, 6], [(0, 0, 1), (1, 1, 2)])], [[True, False]]),
    ]
    for items in one_epoch(mixed, 1000, 1000, 0):
        collate(items, 1, 2)
    with pytest.raises(ValueError, match="mixes generation and reranking"):
        collate(mixed, 1, 2)  # type: ignore[arg-type]


def test_decoder_inputs_are_the_labels_shifted_by_one() -> None:
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


def test_all_targets_of_an_input_are_packed_into_one_row() -> None:
    pair = GenerationExample([5], [[6, 2], [7, 8, 2]], [])
    batch = collate([pair, GenerationExample([5], [[9, 2]], [])], 1, 0)
    assert isinstance(batch, SequenceBatch)
    assert batch.labels.tolist() == [[6, 2, 7, 8, 2], [9, 2, *[IGNORED] * 3]]
    assert batch.decoder_ids.tolist() == [[0, 6, 0, 7, 8], [0, 9, 1, 1, 1]]
    assert batch.positions.tolist() == [[0, 1, 0, 1, 2], [0, 1, 0, 0, 0]]
    assert batch.segments.tolist() == [[0, 0, 1, 1, 1], [0, 0, -1, -1, -1]]
    assert Counts.of([pair]).tokens == 2.5
