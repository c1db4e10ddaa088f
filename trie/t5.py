"""The architecture of T5, Flan-T5, mT5, UMT5 and LongT5.

Positions are relative: a bias of the scores of self-attention, which the layers share in all but
UMT5. Norms come before each sub-layer, do not centre and have no bias, scores are not divided by
the square root of the head size, and no linear layer has a bias. The encoder of LongT5 attends to
the neighbourhood of each token; it is run as it is, for inputs of equal length together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from trie.attention import (
    AttentionLayer,
    EncodedInputs,
    FloatLinears,
    LinearGroup,
    cross_attention,
    packed_attention,
    packed_states,
)

# Tokens of an input or output if the configuration does not say how many (`n_positions`). The
# architecture has no limit; checkpoints are trained with this length.
_DEFAULT_POSITIONS = 512
# Checkpoints that divide the decoder's states by the square root of their size before the product
# with the vocabulary. For the others, the configuration decides.
_SCALES_STATES = {"mt5": False, "umt5": True}


class T5Architecture:
    """A model of T5's family; see `trie.seq2seq.Architecture`.

    The last linear layer of each encoder layer stays in floating point, as transformers keeps it in
    8-bit models: its input has outliers.

    Raises `ValueError` if the model is a LongT5 and the linear layers are not in floating point, or
    its configuration is not valid.
    """

    def __init__(self, model: PreTrainedModel, linears: type[LinearGroup]) -> None:
        config = model.config
        self._model: Any = model
        self._encoder: Any = model.get_encoder()
        self._decoder: Any = model.get_decoder()
        self._max_distance: int = config.relative_attention_max_distance
        self._is_long = config.model_type == "longt5"
        if self._is_long and linears is not FloatLinears:
            raise ValueError("int8 is not supported for LongT5; use fp32 or bf16")
        self._blocks = [] if self._is_long else list(self._encoder.block)
        self._linears = [_encoder_linears(block, linears) for block in self._blocks]
        self._self_attentions = [
            _attention(block.layer[0].SelfAttention) for block in self._decoder.block
        ]
        self.cross_attentions: Sequence[AttentionLayer] = [
            _attention(block.layer[1].EncDecAttention) for block in self._decoder.block
        ]
        positions = getattr(config, "n_positions", None) or _DEFAULT_POSITIONS
        if not isinstance(positions, int) or positions < 1:
            raise ValueError(f"n_positions is {positions!r} in config.json, not a number of tokens")
        self.max_source = self.max_target = positions

    def encoder_states(self, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, Tensor]]:
        if not self._is_long:
            yield from packed_states(inputs, self._run_encoder)
            return
        for length in sorted(set(map(len, inputs))):
            same = [at for at, ids in enumerate(inputs) if len(ids) == length]
            ids = torch.tensor([list(inputs[at]) for at in same])
            yield from zip(same, self._encoder(input_ids=ids)[0].float(), strict=True)

    def _run_encoder(self, tokens: Tensor, positions: Tensor, lengths: Sequence[int]) -> Tensor:
        hidden: Tensor = self._encoder.embed_tokens(tokens)
        biases: dict[int, Tensor] = {}
        for block, (query_key_value, out, intermediate, output) in zip(
            self._blocks, self._linears, strict=True
        ):
            attention, norm = block.layer[0].SelfAttention, block.layer[0].layer_norm
            if (embedding := _position_embedding(attention)) is not None:
                limit = self._max_distance
                biases = {length: input_bias(embedding, length, limit) for length in set(lengths)}
            projected = query_key_value(norm(hidden))
            (attended,) = out(packed_attention(projected, attention.n_heads, lengths, 1.0, biases))
            hidden = hidden + attended.to(hidden.dtype)
            feed_forward, norm = block.layer[-1].DenseReluDense, block.layer[-1].layer_norm
            activated, *gates = intermediate(norm(hidden))
            activated = feed_forward.act(activated)
            for gate in gates:
                activated = activated * gate
            (fed,) = output(activated)
            hidden = hidden + fed.to(hidden.dtype)
        states: Tensor = self._encoder.final_layer_norm(hidden)
        return states

    def decode(
        self,
        encoded: EncodedInputs,
        tokens: Tensor,
        positions: Tensor,
        key_positions: Tensor,
        attend_to_tokens: Callable[..., Tensor],
    ) -> Tensor:
        hidden: Tensor = self._decoder.embed_tokens(tokens)
        distances = key_positions - positions[:, None]
        bias: Tensor | None = None
        for number, block in enumerate(self._decoder.block):
            own, cross, feed_forward = block.layer
            if (embedding := _position_embedding(own.SelfAttention)) is not None:
                bias = position_bias(embedding, distances, self._max_distance, bidirectional=False)
            attention, normed = self._self_attentions[number], own.layer_norm(hidden)
            hidden = hidden + attend_to_tokens(attention, normed, layer=number, bias=bias)
            attention, normed = self.cross_attentions[number], cross.layer_norm(hidden)
            hidden = hidden + cross_attention(attention, normed, encoded, number)
            hidden = hidden + feed_forward.DenseReluDense(feed_forward.layer_norm(hidden))
        states: Tensor = self._decoder.final_layer_norm(hidden)
        return states

    def logits(self, states: Tensor) -> Tensor:
        logits: Tensor = self._model.lm_head(states * output_scale(self._model)).float()
        return logits


def output_scale(model: PreTrainedModel) -> float:
    """Return the factor of the decoder's states in the product with the vocabulary."""
    config = model.config
    scales = _SCALES_STATES.get(config.model_type)
    if scales is None:
        scales = config.scale_decoder_outputs
    return float(config.d_model**-0.5) if scales else 1.0


def position_bias(
    embedding: nn.Embedding, distances: Tensor, max_distance: int, bidirectional: bool
) -> Tensor:
    """Return the bias of each head for some distances, (heads, *shape of the distances).

    A distance is the position attended to, minus the attending one; distances share the biases of
    buckets, (buckets, heads). Tokens attend to later ones if `bidirectional`, as in an encoder.
    """
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = distances.to(embedding.weight.device)
    buckets = T5Attention._relative_position_bucket(
        distances, bidirectional, embedding.num_embeddings, max_distance
    )
    biases: Tensor = embedding(buckets)
    return biases.movedim(-1, 0).contiguous()


def input_bias(embedding: nn.Embedding, length: int, max_distance: int) -> Tensor:
    """Return the bias of an encoder for an input of some length, (heads, length, length)."""
    distances = torch.arange(1 - length, length)
    biases = position_bias(embedding, distances, max_distance, bidirectional=True)
    # Row i begins with the distance -i. Windows over the biases are the rows in reverse order.
    return biases.unfold(-1, length, 1).flip(-2)


def _encoder_linears(block: Any, linears: type[LinearGroup]) -> tuple[LinearGroup, ...]:
    attention, feed_forward = block.layer[0].SelfAttention, block.layer[-1].DenseReluDense
    is_gated = hasattr(feed_forward, "wi_0")
    first = (feed_forward.wi_0, feed_forward.wi_1) if is_gated else (feed_forward.wi,)
    return (
        linears(attention.q, attention.k, attention.v),
        linears(attention.o),
        linears(*first),
        FloatLinears(feed_forward.wo),
    )


def _attention(module: Any) -> AttentionLayer:
    return AttentionLayer(module.q, module.k, module.v, module.o, module.n_heads, scale=1.0)


def _position_embedding(attention: Any) -> nn.Embedding | None:
    embedding: nn.Embedding | None = getattr(attention, "relative_attention_bias", None)
    return embedding
