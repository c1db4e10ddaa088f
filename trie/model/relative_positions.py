"""T5's relative position bias, which is added to the scores of self-attention.

Each head has a number for each bucket of distances between the attending token and the one attended
to. Small distances have a bucket of their own; longer ones share buckets whose width grows with the
distance. Source: Raffel et al. 2020, section 2.1.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def position_buckets(
    distances: Tensor, num_buckets: int, max_distance: int, bidirectional: bool
) -> Tensor:
    """Return the bucket of each distance.

    Parameters
    ----------
    distances
        Position of the token attended to, minus that of the attending one; int64.
    num_buckets
        Number of buckets.
    max_distance
        Distances from here on share the last bucket.
    bidirectional
        Whether tokens attend to later ones, as in an encoder. Half of the buckets are for these.
    """
    first = torch.zeros_like(distances)
    if bidirectional:
        num_buckets //= 2
        first = (distances > 0) * num_buckets
        sizes = distances.abs()
    else:
        sizes = (-distances).clamp(min=0)
    exact = num_buckets // 2
    # In float32 and in this order, so that distances are rounded to buckets as in training.
    growth = torch.log(sizes.float() / exact) / math.log(max_distance / exact)
    # The logarithm of 0 does not count: distance 0 has a bucket of its own.
    shared = exact + (growth.clamp(min=0) * (num_buckets - exact)).long()
    return first + torch.where(sizes < exact, sizes, shared.clamp(max=num_buckets - 1))


def position_bias(
    embedding: nn.Embedding, distances: Tensor, max_distance: int, bidirectional: bool
) -> Tensor:
    """Return the bias of each head for some distances.

    Parameters
    ----------
    embedding
        The bias of each bucket, (buckets, heads).
    distances, max_distance, bidirectional
        As for `position_buckets`; any shape.

    Returns
    -------
    Tensor
        float32, (heads, *shape of the distances).
    """
    distances = distances.to(embedding.weight.device)
    buckets = position_buckets(distances, embedding.num_embeddings, max_distance, bidirectional)
    biases: Tensor = embedding(buckets)
    return biases.movedim(-1, 0).contiguous()


def input_bias(embedding: nn.Embedding, length: int, max_distance: int) -> Tensor:
    """Return the bias of an encoder for an input of some length, (heads, length, length)."""
    distances = torch.arange(1 - length, length)
    biases = position_bias(embedding, distances, max_distance, bidirectional=True)
    # Row i begins with the distance -i. Windows over the biases are the rows in reverse order.
    return biases.unfold(-1, length, 1).flip(-2)
