"""The stream of batches: reproducible, shared between processes, and resumable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from training.loop.batch_loading import Loader
from training.multitask.sample_batches import Batch, Examples, batches_of, collate
from training.multitask.sample_encoding import GenerationExample

PAIRS = [GenerationExample([3] * (1 + n % 5), [[4, 2]], []) for n in range(20)]


def padded(items: Any) -> Batch:
    return collate(items, 1, 2)


def stream(seed: int = 3) -> Iterator[Examples]:
    return batches_of(PAIRS, 24, 24, seed)


def test_each_epoch_has_every_item_once_in_a_new_order() -> None:
    first: list[int] = []
    batches = stream()
    while len(first) < len(PAIRS):
        first += map(id, next(batches))
    assert sorted(first) == sorted(map(id, PAIRS))
    second: list[int] = []
    while len(second) < len(PAIRS):
        second += map(id, next(batches))
    assert sorted(second) == sorted(first) and second != first
    assert list(islice(stream(), 30)) == list(islice(stream(), 30))
    assert list(islice(stream(), 30)) != list(islice(stream(4), 30))


def test_processes_share_the_batches_after_a_position() -> None:
    whole = list(islice(stream(), 20))
    taken = {}
    for number in range(3):
        with Loader(stream(), padded, position=5, share=(number, 3)) as loader:
            for micro_batch in loader.take(4):
                taken[micro_batch.position] = micro_batch.items
    assert taken == {at: whole[at] for at in range(5, 17)}


def test_exceptions_of_the_thread_are_raised_by_take() -> None:
    def broken() -> Iterator[Examples]:
        yield PAIRS[:1]
        raise ValueError("no more")

    with Loader(broken(), padded) as loader:
        assert len(loader.take(1)) == 1
        with pytest.raises(ValueError, match="no more"):
            loader.take(1)
