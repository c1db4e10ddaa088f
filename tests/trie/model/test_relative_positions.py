"""Buckets of distances, compared with those of transformers."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers.models.t5.modeling_t5 import T5Attention

from trie.model.relative_positions import input_bias, position_bias, position_buckets


@pytest.mark.parametrize(("buckets", "limit"), [(32, 128), (8, 12), (32, 1000), (16, 20)])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_are_those_of_transformers(buckets: int, limit: int, bidirectional: bool) -> None:
    distances = torch.arange(-3000, 3000)
    expected = T5Attention._relative_position_bucket(distances, bidirectional, buckets, limit)
    assert torch.equal(position_buckets(distances, buckets, limit, bidirectional), expected)


def test_the_bias_of_an_input_is_that_of_its_distances() -> None:
    torch.manual_seed(0)
    embedding = nn.Embedding(8, 3)
    for length in (1, 2, 7, 40):
        positions = torch.arange(length)
        distances = positions - positions[:, None]
        expected = position_bias(embedding, distances, 20, bidirectional=True)
        assert expected.shape == (3, length, length)
        assert torch.equal(input_bias(embedding, length, 20), expected)
