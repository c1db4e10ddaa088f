"""Positions in CSR arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trie.index.csr import row_positions


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6))))
def test_positions_of_all_rows(rows: list[tuple[int, int]]) -> None:
    offsets = np.array([offset for offset, _ in rows], dtype=np.int64)
    sizes = np.array([size for _, size in rows], dtype=np.int64)
    expected = [offset + i for offset, size in rows for i in range(size)]
    assert row_positions(offsets, sizes).tolist() == expected
    assert row_positions(offsets, sizes.astype(np.int32)).tolist() == expected
