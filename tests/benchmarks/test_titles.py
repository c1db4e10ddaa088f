"""Generated titles beside those whose statistics they have."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.titles import Titles
from trie.token_trie import concatenate


def _titles(count: int) -> Titles:
    """Titles of one to four tokens out of 30, of which low ones are frequent."""
    rng = np.random.default_rng(3)
    lists = [(rng.geometric(0.2, rng.integers(1, 5)) % 30).tolist() for _ in range(count)]
    return Titles(*concatenate(lists))


def test_generated_titles_are_like_those_given() -> None:
    titles = _titles(5_000)
    found = titles.some(8_000, seed=1)
    lists = found.lists()
    assert len(found) == len(lists) == len(set(map(tuple, lists))) == 8_000
    pairs = {(at, *pair) for one in titles.lists() for at, pair in enumerate(pairwise(one))}
    assert all((at, *pair) in pairs for one in lists for at, pair in enumerate(pairwise(one)))
    assert {one[0] for one in lists} <= {one[0] for one in titles.lists()}
    assert titles.some(8_000, seed=1).lists() == lists
    assert titles.some(8_000, seed=2).lists() != lists


def test_frequencies() -> None:
    """Of titles so long that hardly any comes up twice."""
    rng = np.random.default_rng(4)
    titles = Titles(
        *concatenate((rng.geometric(0.1, rng.integers(8, 12)) % 50).tolist() for _ in range(4_000))
    )
    found = titles.like(4_000)
    for place in range(8):
        shares = [
            np.bincount([one[place] for one in which.lists()], minlength=50) / 4_000
            for which in (titles, found)
        ]
        assert np.abs(shares[0] - shares[1]).max() < 0.03
    lengths = [np.bincount(which.lengths, minlength=13) / 4_000 for which in (titles, found)]
    assert np.abs(lengths[0] - lengths[1]).max() < 0.04


def test_some_of_them() -> None:
    titles = _titles(50)
    assert titles.some(50) is titles
    assert all(one in titles.lists() for one in titles.some(20).lists())
    assert len(titles.some(20)) == 20


def test_more_than_there_can_be() -> None:
    with pytest.raises(ValueError, match="no more than 2 others"):
        Titles(*concatenate([[1], [2]])).like(3)
