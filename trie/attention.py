"""The arithmetic of fast encoders and decoders: packed inputs, shared encodings, matrix products.

Batches are padded, or on the CPU the concatenated tokens of many inputs. Everything except
attention treats each token separately, so it runs over the tokens of all inputs together. Attention
runs over inputs of equal length together. No padding is computed, and the states of an input do not
depend on the rest of the batch, in most cases to the last bit.

Matrix products run in float32, in bfloat16, or in 8 bits on CPUs with instructions for them (VNNI,
AMX). 8-bit weights are quantised symmetrically per output channel, activations dynamically per
token. The result for a token therefore depends neither on the rest of the batch nor on calibration
data, and an outlier costs precision only in its own token.

In a decoder, the beams of an input share its encoding: transformers' ``generate`` repeats the
encoder output for every beam. Here the beams of an input are query positions of one
cross-attention, so that keys and values are computed and read once per input: 1.8 s instead of 3.2
s for 25 beams of 20 tokens with BART-base on two CPU threads.

On a CPU, the results of an input do not depend on the rest of its batch. Each input attends to its
own length only, since sums over padding are added up in another order. bfloat16 products have the
same bits for any number of rows, float32 products for `MIN_ROWS` and more in one thread; so beams
get exactly the same scores in a batch as alone. With several threads, float32 products are split
according to their size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Tokens that are computed together: more do not fit into the caches of two cores.
_MAX_TOKENS = 2048
# Exponentials of scores up to this bound, and down to its negative, stay far within the range of
# floats, as do their sums and their products with values.
_MAX_EXPONENT = 60


def pad_batch(rows: Iterable[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return the rows padded on the right with `pad`, and their attention mask.

    The mask is derived from lengths: a row may contain `pad` itself. Both are int64, (rows, length
    of the longest row).
    """
    lists = [list(row) for row in rows]
    width = max(len(row) for row in lists)
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in lists], dtype=torch.int64)
    lengths = torch.tensor([len(row) for row in lists])
    return ids, (torch.arange(width) < lengths[:, None]).long()


class LinearGroup(Protocol):
    """Linear layers with the same input: `FloatLinears` or `Int8Linears`."""

    def __init__(self, *layers: nn.Linear) -> None: ...

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the output of each layer, (tokens, out_features), for `hidden`, (tokens, in)."""


class FloatLinears:
    """Linear layers with the same input, run in the dtype of the autocast, if one is active."""

    def __init__(self, *layers: nn.Linear) -> None:
        self._layers = layers

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the output of each layer."""
        if torch.is_autocast_enabled("cpu"):  # which would convert it once per layer
            hidden = hidden.to(torch.get_autocast_dtype("cpu"))
        return [layer(hidden) for layer in self._layers]


@dataclass(frozen=True, slots=True)
class EncoderLayer:
    """The parts of a post-norm encoder layer, such as BART's or BERT's.

    `query_key_value` has three outputs, the other linear groups have one.
    """

    query_key_value: LinearGroup
    attention_output: LinearGroup
    attention_norm: nn.LayerNorm
    intermediate: LinearGroup
    activation: Callable[[Tensor], Tensor]
    output: LinearGroup
    output_norm: nn.LayerNorm
    num_heads: int


def packed_encoder_states(
    inputs: Sequence[Sequence[int]],
    embed: Callable[[Tensor, Tensor], Tensor],
    layers: Sequence[EncoderLayer],
) -> Iterator[tuple[int, Tensor]]:
    """Yield the index and the states, float32, (tokens, hidden size), of each input.

    Runs post-norm layers in host memory, in the dtype of the active autocast; sums and norms are
    float32. `embed` maps tokens and their positions, both (tokens,), to the input of the first
    layer, (tokens, hidden size). No input is empty.
    """

    def run(tokens: Tensor, positions: Tensor, lengths: Sequence[int]) -> Tensor:
        hidden = embed(tokens, positions)
        for layer in layers:
            hidden = _run_layer(layer, hidden, lengths)
        return hidden

    yield from packed_states(inputs, run)


def packed_states(
    inputs: Sequence[Sequence[int]], run: Callable[[Tensor, Tensor, Sequence[int]], Tensor]
) -> Iterator[tuple[int, Tensor]]:
    """Yield the index and the states of each input, as `packed_encoder_states` does.

    `run` maps the tokens of several inputs and their positions, both (tokens,), and the lengths of
    the inputs, which ascend, to states, (tokens, hidden size).
    """
    for group in _group_by_length([len(ids) for ids in inputs]):
        lengths = [len(inputs[at]) for at in group]
        tokens = torch.tensor([token for at in group for token in inputs[at]])
        hidden = run(tokens, torch.cat([torch.arange(length) for length in lengths]), lengths)
        yield from zip(group, hidden.float().split(lengths), strict=True)


def _group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    room = 0
    for at in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        if not groups or lengths[at] > room:
            groups.append([])
            room = _MAX_TOKENS
        groups[-1].append(at)
        room -= lengths[at]
    return groups


def _run_layer(layer: EncoderLayer, hidden: Tensor, lengths: Sequence[int]) -> Tensor:
    projected = layer.query_key_value(hidden)
    (attended,) = layer.attention_output(packed_attention(projected, layer.num_heads, lengths))
    hidden = layer.attention_norm(hidden + attended.to(hidden.dtype))
    (intermediate,) = layer.intermediate(hidden)
    (output,) = layer.output(layer.activation(intermediate))
    states: Tensor = layer.output_norm(hidden + output.to(hidden.dtype))
    return states


def packed_attention(
    projected: Sequence[Tensor],
    num_heads: int,
    lengths: Sequence[int],
    scale: float | None = None,
    biases: Mapping[int, Tensor] | None = None,
) -> Tensor:
    """Attend within each input, given queries, keys and values; (tokens, features) each.

    Inputs of equal length follow each other. `scale` is the factor of the scores, by default one
    over the square root of the head size; `biases`, (heads, length, length), are added to them.
    """
    attended = torch.empty_like(projected[0])
    begin = 0
    for length, same in groupby(lengths):
        end = begin + length * len(list(same))
        # (inputs of this length, heads, length, head size)
        query, key, value = (
            tensor[begin:end]
            .view(-1, length, num_heads, tensor.shape[1] // num_heads)
            .transpose(1, 2)
            for tensor in projected
        )
        heads = attended[begin:end].view(-1, length, num_heads, query.shape[-1])
        bias = None if biases is None else biases[length]
        heads.copy_(_scaled_dot_product(query, key, value, scale, bias).transpose(1, 2))
        begin = end
    return attended


def _scaled_dot_product(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    if query.dtype is torch.float32:
        mask = None if bias is None else bias[None]
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    # torch's own bfloat16 kernel takes two to three times as long for heads of size 32.
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query * scale) @ key.transpose(-1, -2)
    if bias is not None:
        biased: Tensor = (scores + bias).softmax(-1) @ value
        return biased
    # Most of a softmax's time goes into the maximum of each row, which is subtracted so that no
    # exponential overflows. Where the norms of queries and keys rule out an overflow, it is
    # skipped. Each input and head is decided separately, so states do not depend on the batch.
    large = _max_norm(query) * _max_norm(key) * scale > _MAX_EXPONENT
    exact = scores[large].softmax(-1) @ value[large]
    scores.exp_()
    attended: Tensor = (scores @ value) / scores.sum(-1, keepdim=True)
    attended[large] = exact
    return attended


def _max_norm(vectors: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(vectors, dim=-1, dtype=torch.float32)
    return norms.amax(-1)


# The CPU multiplies unsigned by signed bytes, so activations are shifted by this zero point.
_ZERO_POINT = 128
_MAX = 127
_MIN_SCALE = 1e-30  # a smaller scale would have no finite reciprocal
# Number of rows for which oneDNN lays out weights; other numbers are as fast.
_LAYOUT_ROWS = 2048


class Int8Linears:
    """Linear layers with the same input, as one 8-bit matrix product; results are float32.

    The layers give up their weights, which are kept as bytes, and cannot be used elsewhere
    afterwards. Thread-safe.
    """

    def __init__(self, *layers: nn.Linear) -> None:
        weight = torch.cat([layer.weight.detach().float() for layer in layers])
        self._bias = torch.cat([_bias(layer) for layer in layers])
        self._sizes = [layer.out_features for layer in layers]
        self._scales = weight.abs().amax(1).div_(_MAX).clamp_(min=_MIN_SCALE)
        quantised = weight.div_(self._scales[:, None]).round_().to(torch.int8)
        self._packed: Tensor = torch.ops.onednn.qlinear_prepack(
            quantised, [_LAYOUT_ROWS, quantised.shape[1]]
        )
        self._zeros = torch.zeros(len(quantised), dtype=torch.int32)
        for layer in layers:
            layer.weight = nn.Parameter(torch.empty(0), requires_grad=False)

    def __call__(self, hidden: Tensor) -> Sequence[Tensor]:
        """Return the outputs, each (tokens, out_features), for `hidden`, float32, (tokens, in)."""
        lowest, highest = hidden.amin(-1, keepdim=True), hidden.amax(-1, keepdim=True)
        scales = torch.maximum(highest, lowest.neg_()).div_(_MAX).clamp_(min=_MIN_SCALE)
        # By way of signed bytes, to which torch converts three times as fast.
        signed = (hidden * scales.reciprocal()).round_().to(torch.int8)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            signed.view(torch.uint8).add_(_ZERO_POINT),
            1.0,
            _ZERO_POINT,
            self._packed,
            self._scales,
            self._zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        outputs: Sequence[Tensor] = product.mul_(scales).add_(self._bias).split(self._sizes, -1)
        return outputs


def _bias(layer: nn.Linear) -> Tensor:
    bias: Tensor | None = layer.bias  # none in T5
    return torch.zeros(layer.out_features) if bias is None else bias.detach().float()


def linear_group_type(dtype: torch.dtype, device: torch.device) -> type[LinearGroup]:
    """Return the implementation of an encoder's linear layers for a dtype; see `check_int8`."""
    if dtype is not torch.int8:
        return FloatLinears
    check_int8(device)
    return Int8Linears


def check_int8(device: torch.device) -> None:
    """Raise ValueError, naming alternatives, if int8 is not supported on a device."""
    if device.type != "cpu":
        raise ValueError(f"int8 runs on CPUs only, not on {device}; use bf16 there, or device cpu")
    if not int8_is_supported():
        raise ValueError("int8 needs a torch with oneDNN and a CPU with VNNI; use fp32 or bf16")


@cache
def int8_is_supported() -> bool:
    """Return whether torch multiplies bytes on this CPU without overflow.

    Without VNNI, sums of two products are kept in 16 bits, which is not enough.
    """
    largest = nn.utils.skip_init(nn.Linear, 64, 64)  # does not advance torch's random generator
    nn.init.ones_(largest.weight)
    nn.init.zeros_(largest.bias)
    try:
        (sums,) = Int8Linears(largest)(torch.ones(64, 64))
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return bool((sums - 64).abs().max() < 1e-3)


def bfloat16_is_fast(device: torch.device) -> bool:
    """Return whether a device has bfloat16 matrix instructions; without them, it is slow."""
    if device.type == "cuda":
        return bool(torch.version.hip) or torch.cuda.get_device_capability(device)[0] >= 8
    return device.type == "cpu" and (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )


def convert_linears_to_bfloat16(model: nn.Module) -> None:
    """Convert the weights of a model's linear layers to bfloat16, as autocast would at each step.

    Autocast's weight cache does not work in inference mode, so autocast would convert all weights
    at each step. For 25 beams this took as long as the product with the vocabulary.

    A layer that shares its weights, as a language-model head does with the token embedding, gets a
    copy; the embedding is not changed. Layers that gave up their weights stay empty.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = _converted(layer.weight)
            if layer.bias is not None:
                layer.bias = _converted(layer.bias)


def _converted(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().to(torch.bfloat16), requires_grad=False)


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
        _beam_attention(
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
                _beam_attention(
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


def _beam_attention(
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
