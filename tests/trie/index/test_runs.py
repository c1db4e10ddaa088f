"""Places of stretches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trie.index.runs import runs


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6))))
def test_the_places_of_all_stretches(stretches: list[tuple[int, int]]) -> None:
    begins = np.array([begin for begin, _ in stretches], dtype=np.int64)
    sizes = np.array([size for _, size in stretches], dtype=np.int64)
    expected = [begin + i for begin, size in stretches for i in range(size)]
    assert runs(begins, sizes).tolist() == expected
    assert runs(begins, sizes.astype(np.int32)).tolist() == expected
