"""Batches of inputs of similar length."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from admiral.reranking.encoder_inputs import batch_by_length


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 120))
def test_batches_contain_every_input_once_and_keep_to_the_budget(
    lengths: list[int], budget: int
) -> None:
    batches = batch_by_length(lengths, budget)
    order = [i for batch in batches for i in batch]
    assert order == sorted(range(len(lengths)), key=lambda i: lengths[i])
    for batch in batches:
        assert len(batch) == 1 or lengths[batch[-1]] * len(batch) <= budget
    for batch, following in pairwise(batches):
        # One more input would exceed the budget.
        assert lengths[following[0]] * (len(batch) + 1) > budget
