"""The encoder on a processor, without padding: the tokens of many inputs behind each other.

All but attention looks at one token at a time, so it runs over the tokens of all inputs together.
Attention runs over the inputs of one length together. No padding token is ever computed, and an
input's states do not depend on what else is in the batch: mostly not even by their last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Tokens that are computed together: more do not fit into the caches of two cores.
_TOKENS = 2048
# Exponentials of weights up to this, and down to its negative, stay far within the range of floats,
# as do their sums and their products with values.
_GREATEST = 60


class Products(Protocol):
    """Some linear layers that read the same: `Linears`, or `trie.model.int8.Int8Linears`."""

    def __init__(self, *parts: nn.Linear) -> None: ...

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the output of each, (tokens, its width), of `hidden`, (tokens, width)."""


class Linears:
    """Linear layers that read the same, in the autocast's precision; the weights stay theirs."""

    def __init__(self, *parts: nn.Linear) -> None:
        self._parts = parts

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the output of each, (tokens, its width), of `hidden`, (tokens, width)."""
        if torch.is_autocast_enabled("cpu"):  # which would convert it for each of them
            hidden = hidden.to(torch.get_autocast_dtype("cpu"))
        return [part(hidden) for part in self._parts]


@dataclass(frozen=True, slots=True)
class EncoderLayer:
    """The parts of a post-norm encoder layer, such as BART's and BERT's.

    `project` gives queries, keys and values; the other products have one output.
    """

    project: Products
    output: Products
    attention_norm: nn.LayerNorm
    inner: Products
    activation: Callable[[Tensor], Tensor]
    outer: Products
    norm: nn.LayerNorm
    heads: int


def packed_states(
    inputs: Sequence[Sequence[int]],
    embed: Callable[[Tensor, Tensor], Tensor],
    layers: Sequence[EncoderLayer],
) -> Iterator[tuple[int, Tensor]]:
    """Yield the position and the encoder's states of each input, shorter ones first.

    It runs in the precision of the autocast that it is called in; sums and norms are float32.

    Parameters
    ----------
    inputs
        Token ids, none empty.
    embed
        Maps tokens and their positions, both (tokens,), to what the first layer reads, (tokens,
        width).
    layers
        The encoder's layers, first to last, in host memory.

    Yields
    ------
    int
        The position of an input.
    Tensor
        Its states; float32, (its tokens, width).
    """
    for places in _together([len(ids) for ids in inputs]):
        lengths = [len(inputs[at]) for at in places]
        tokens = torch.tensor([token for at in places for token in inputs[at]])
        hidden = embed(tokens, torch.cat([torch.arange(length) for length in lengths]))
        for layer in layers:
            hidden = _layer(layer, hidden, lengths)
        yield from zip(places, hidden.float().split(lengths), strict=True)


def _together(lengths: Sequence[int]) -> list[list[int]]:
    """Group positions by ascending length, so that inputs of one length stand side by side."""
    groups: list[list[int]] = []
    room = 0
    for at in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        if not groups or lengths[at] > room:
            groups.append([])
            room = _TOKENS
        groups[-1].append(at)
        room -= lengths[at]
    return groups


def _layer(layer: EncoderLayer, hidden: Tensor, lengths: Sequence[int]) -> Tensor:
    (attended,) = layer.output(_attend(layer, hidden, lengths))
    hidden = layer.attention_norm(hidden + attended.to(hidden.dtype))
    (inner,) = layer.inner(hidden)
    (outer,) = layer.outer(layer.activation(inner))
    out: Tensor = layer.norm(hidden + outer.to(hidden.dtype))
    return out


def _attend(layer: EncoderLayer, hidden: Tensor, lengths: Sequence[int]) -> Tensor:
    """Attend within each input; `hidden` is (tokens, width), as is the result."""
    projected = layer.project(hidden)
    attended = torch.empty_like(projected[0])
    begin = 0
    for length, same in groupby(lengths):
        end = begin + length * len(list(same))
        # (inputs of this length, heads, length, head size)
        query, key, value = (
            one[begin:end]
            .view(-1, length, layer.heads, one.shape[1] // layer.heads)
            .transpose(1, 2)
            for one in projected
        )
        heads = attended[begin:end].view(-1, length, layer.heads, query.shape[-1])
        heads.copy_(_attention(query, key, value).transpose(1, 2))
        begin = end
    return attended


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    if query.dtype is torch.float32:
        return F.scaled_dot_product_attention(query, key, value)
    # torch's own kernel for bfloat16 takes two to three times as long, with heads of 32 numbers.
    scale = query.shape[-1] ** -0.5
    weights = (query * scale) @ key.transpose(-1, -2)
    # Most of a softmax's time goes into the greatest weight of each row, subtracted so that no
    # exponential overflows. Where the lengths of queries and keys say that none can, it is not
    # looked for. Each input and head is judged by itself: states do not depend on the batch.
    large = _longest(query) * _longest(key) * scale > _GREATEST
    exact = weights[large].softmax(-1) @ value[large]
    weights.exp_()
    attended = (weights @ value) / weights.sum(-1, keepdim=True)
    attended[large] = exact
    return attended


def _longest(vectors: Tensor) -> Tensor:
    """Return the length of the longest vector of each input and head, (inputs, heads)."""
    return torch.linalg.vector_norm(vectors, dim=-1, dtype=torch.float32).amax(-1)
