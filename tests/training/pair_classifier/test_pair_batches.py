"""Batches of pairs: budget, weights, and an order that the seed decides."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from training.verification.pair_batches import EncodedPair, batches_of_pairs, pair_epoch


def item(length: int, weight: float = 1.0, label: int = 0) -> EncodedPair:
    return EncodedPair(array("i", [1] * length), array("b", [0] * length), label, -1, weight)


ITEMS = st.lists(
    st.builds(item, st.integers(1, 50), st.sampled_from((0.0, 0.5, 1.0, 2.25))), max_size=30
)


@given(ITEMS, st.integers(1, 200), st.integers(0, 3))
def test_an_epoch_holds_each_pair_as_often_as_its_weight_says(
    items: list[EncodedPair], budget: int, seed: int
) -> None:
    batches = pair_epoch(items, budget, random.Random(seed))
    counts = Counter(id(one) for batch in batches for one in batch)
    for one in items:
        assert int(one.weight) <= counts[id(one)] <= int(one.weight) + (one.weight % 1 > 0)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(len(one.ids) for one in batch) <= budget


def test_the_stream_depends_on_the_seed_alone() -> None:
    items = [item(n % 20 + 1, 0.5, label=n) for n in range(60)]

    def labels(seed: int) -> list[list[int]]:
        return [[o.label for o in b] for b in islice(batches_of_pairs(items, 40, seed), 50)]

    assert labels(0) == labels(0)
    assert labels(0) != labels(1)
