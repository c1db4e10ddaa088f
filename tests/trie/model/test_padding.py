from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from trie.model.packed_encoder import pad_batch


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1), st.integers(0, 3))
def test_the_mask_selects_the_rows(rows: list[list[int]], pad: int) -> None:
    ids, mask = pad_batch(rows, pad)
    assert ids.dtype == mask.dtype == torch.int64
    assert ids.shape == mask.shape == (len(rows), max(map(len, rows)))
    for row, found, inside in zip(rows, ids, mask, strict=True):
        assert inside.tolist() == [1] * len(row) + [0] * (len(inside) - len(row))
        assert found[: len(row)].tolist() == row
        assert set(found[len(row) :].tolist()) <= {pad}
