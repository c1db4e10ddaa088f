"""Batches of similar length, and what their padding is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proofs.verifier.evidence_batches import length_batches, pad_inputs, padded_positions


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 100))
def test_batches_hold_every_input_once_and_fit(lengths: list[int], budget: int) -> None:
    batches = length_batches(lengths, budget)
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    for batch in batches:
        cost = len(batch) * max(lengths[at] for at in batch)
        assert cost <= budget or len(batch) == 1


def test_inputs_are_padded() -> None:
    ids, mask, segments = pad_inputs([[7, 8], [5, 6, 9]], [[0, 1], [0, 1, 1]], 4)
    assert ids.tolist() == [[7, 8, 4], [5, 6, 9]]
    assert mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert segments.tolist() == [[0, 1, 0], [0, 1, 1]]


def test_positions_are_padded() -> None:
    positions, missing = padded_positions([[], [3, 5]])
    assert positions.tolist() == [[0, 0], [3, 5]]
    assert missing.tolist() == [[True, True], [False, False]]
