"""Attention of a decoder in which the beams of an input share the input's encoding.

transformers' ``generate`` repeats the encoder output for every beam. Here the beams of an input are
query positions of one cross-attention, so that keys and values are computed and read once per
input: 1.8 s instead of 3.2 s for 25 beams of 20 tokens with BART-base on two CPU threads.

On a CPU, the results of an input do not depend on the rest of its batch. Each input attends to its
own length only, since sums over padding are added up in another order. bfloat16 products have the
same bits for any number of rows, float32 products for `MIN_ROWS` and more in one thread; so beams
get exactly the same scores in a batch as alone. With several threads, float32 products are split
according to their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Products of fewer rows are computed differently, which changes the last bits. An input alone may
# have fewer rows than in a batch, so they are filled up with copies.
MIN_ROWS = 4


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    """The projections of an attention layer.

    `scale` is the factor of the scores; by default one over the square root of the head size.
    """

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear
    num_heads: int
    scale: float | None = None


@dataclass(frozen=True, slots=True)
class EncodedInputs:
    """Encoded inputs, as the decoder attends to them."""

    mask: Tensor  # True at input tokens, False at padding; bool, (inputs, length)
    lengths: tuple[int, ...]  # of the inputs, without padding
    # For each decoder layer's cross-attention; (inputs, heads, length, head size).
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.mask)

    def select(self, indices: Sequence[int]) -> EncodedInputs:
        """Return the encodings of some of the inputs."""
        rows = torch.tensor(indices, dtype=torch.int64, device=self.mask.device)
        return EncodedInputs(
            self.mask.index_select(0, rows),
            tuple(self.lengths[at] for at in indices),
            tuple(keys.index_select(0, rows) for keys in self.keys),
            tuple(values.index_select(0, rows) for values in self.values),
        )


@dataclass(slots=True)
class KVCache:
    """Self-attention keys and values of the decoded tokens; grows with each step."""

    length: int  # tokens decoded so far, including the start token
    # For each decoder layer (inputs * beams, heads, length, head size); empty at the start.
    keys: list[Tensor]
    values: list[Tensor]


def split_heads(projected: Tensor, heads: int) -> Tensor:
    """Reshape (rows, length, features) to (rows, heads, length, head size)."""
    split: Tensor = projected.unflatten(-1, (heads, -1)).transpose(1, 2)
    return split


def self_attention(
    attention: AttentionLayer,
    hidden: Tensor,
    cache: KVCache,
    layer: int,
    bias: Tensor | None = None,
) -> Tensor:
    """Attend to each beam's own tokens, and append the newest ones to the cache.

    `hidden` holds the states of the newest tokens; (inputs, beams, positions, features), as does
    the result. `bias`, (heads, positions, all tokens so far), is added to the scores.
    """
    rows, heads = hidden.flatten(0, 1), attention.num_heads
    keys = split_heads(attention.key(rows), heads)
    values = split_heads(attention.value(rows), heads)
    if cache.length == 0:
        cache.keys.append(keys)
        cache.values.append(values)
    else:
        keys = cache.keys[layer] = torch.cat([cache.keys[layer], keys], dim=2)
        values = cache.values[layer] = torch.cat([cache.values[layer], values], dim=2)
    queries = split_heads(attention.query(rows), heads)
    # One position after another, as if tokens had come one by one: with a mask, zeros would be
    # added, and another number of zeros may mean another order of summation.
    attended = [
        _scaled_dot_product(
            query,
            keys[:, :, :end],
            values[:, :, :end],
            attention.scale,
            None if bias is None else bias[:, end - cache.length - 1, None, :end],
        )
        for end, query in enumerate(queries.split(1, dim=2), start=cache.length + 1)
    ]
    out: Tensor = attention.output(torch.cat(attended, dim=2).transpose(1, 2).flatten(2))
    return out.view_as(hidden)


def masked_self_attention(
    attention: AttentionLayer,
    hidden: Tensor,
    visible: Tensor,
    layer: int,
    bias: Tensor | None = None,
) -> Tensor:
    """Attend from each position to those that are `visible`; bool, (positions, positions).

    `hidden` is (inputs, beams, positions, features), as is the result. `bias`, (heads, positions,
    positions), is added to the scores. `layer` makes no difference without a cache.
    """
    rows, heads = hidden.flatten(0, 1), attention.num_heads
    queries = split_heads(attention.query(rows), heads)
    keys = split_heads(attention.key(rows), heads)
    values = split_heads(attention.value(rows), heads)
    weights = _scores(queries, keys, attention.scale, bias)
    weights = weights.masked_fill(~visible, -torch.inf)
    out: Tensor = attention.output((weights.softmax(-1) @ values).transpose(1, 2).flatten(2))
    return out.view_as(hidden)


def cross_attention(
    attention: AttentionLayer, hidden: Tensor, encoded: EncodedInputs, layer: int
) -> Tensor:
    """Attend to the encoded input, with all beams and positions of an input as queries.

    `hidden` is (inputs, beams, positions, features), as is the result.
    """
    queries = split_heads(attention.query(hidden.flatten(1, 2)), attention.num_heads)
    count, keys, values = queries.shape[2], encoded.keys[layer], encoded.values[layer]
    if hidden.device.type == "cpu":
        if count < MIN_ROWS:
            copies = queries[:, :, -1:].expand(-1, -1, MIN_ROWS - count, -1)
            queries = torch.cat([queries, copies], dim=2)
        attended = torch.cat(
            [
                _scaled_dot_product(
                    query, key[..., :length, :], value[..., :length, :], attention.scale
                )
                for query, key, value, length in zip(
                    queries.split(1), keys.split(1), values.split(1), encoded.lengths, strict=True
                )
            ]
        )
    else:
        mask = encoded.mask[:, None, None, :]
        attended = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, scale=attention.scale
        )
    out: Tensor = attention.output(attended[:, :, :count].transpose(1, 2).flatten(2))
    return out.view_as(hidden)


def _scaled_dot_product(
    query: Tensor, key: Tensor, value: Tensor, scale: float | None, bias: Tensor | None = None
) -> Tensor:
    if query.device.type != "cpu":
        mask = None if bias is None else bias[None].to(query.dtype)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    # torch's own kernel takes up to three times as long for many beams, and its bits depend on the
    # number of queries.
    attended: Tensor = _scores(query, key, scale, bias).softmax(-1) @ value
    return attended


def _scores(query: Tensor, key: Tensor, scale: float | None, bias: Tensor | None) -> Tensor:
    scores = (query * (query.shape[-1] ** -0.5 if scale is None else scale)) @ key.transpose(-1, -2)
    return scores if bias is None else scores + bias
