"""The architecture of T5, Flan-T5, mT5, UMT5 and LongT5.

Positions are relative: a bias of the scores of self-attention, which the layers share in all but
UMT5. Norms come before each sub-layer, do not centre and have no bias, scores are not divided by
the square root of the head size, and no linear layer has a bias. The encoder of LongT5 attends to
the neighbourhood of each token; it is run as it is, for inputs of equal length together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from trie.model.packed_encoder import FloatLinears, LinearGroup, packed_attention, packed_states
from trie.model.relative_positions import input_bias, position_bias
from trie.model.shared_attention import AttentionLayer, EncodedInputs, cross_attention

# Tokens of an input or output if the configuration does not say how many (`n_positions`). The
# architecture has no limit; checkpoints are trained with this length.
_DEFAULT_POSITIONS = 512
# Checkpoints that divide the decoder's states by the square root of their size before the product
# with the vocabulary. For the others, the configuration decides.
_SCALES_STATES = {"mt5": False, "umt5": True}


@dataclass(frozen=True, slots=True)
class _EncoderLayer:
    """The parts of an encoder layer; `intermediate` has a second output if it is gated.

    `position_embedding` is None in layers that use the bias of an earlier one.
    """

    position_embedding: nn.Embedding | None
    attention_norm: nn.Module
    query_key_value: LinearGroup
    attention_output: LinearGroup
    intermediate_norm: nn.Module
    intermediate: LinearGroup
    activation: Callable[[Tensor], Tensor]
    output: LinearGroup
    num_heads: int


@dataclass(frozen=True, slots=True)
class _DecoderLayer:
    """The parts of a decoder layer."""

    position_embedding: nn.Embedding | None
    self_norm: nn.Module
    self_attention: AttentionLayer
    cross_norm: nn.Module
    cross_attention: AttentionLayer
    feed_forward_norm: nn.Module
    feed_forward: nn.Module


class T5Architecture:
    """A model of T5's family; see `trie.model.architecture.Architecture`.

    Parameters
    ----------
    model
        A `T5ForConditionalGeneration` or the same class of mT5, UMT5 or LongT5.
    linears
        The implementation of the encoder's linear layers. The last one of each layer stays in
        floating point, as transformers keeps it in 8-bit models: its input has outliers.

    Raises
    ------
    ValueError
        If the model is a LongT5 and the linear layers are not in floating point, or its
        configuration is not valid.
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
        self._layers = (
            [] if self._is_long else [_encoder_layer(b, linears) for b in self._encoder.block]
        )
        self._decoder_layers = [_decoder_layer(block) for block in self._decoder.block]
        self.cross_attentions: Sequence[AttentionLayer] = [
            layer.cross_attention for layer in self._decoder_layers
        ]
        positions = getattr(config, "n_positions", None) or _DEFAULT_POSITIONS
        if not isinstance(positions, int) or positions < 1:
            raise ValueError(f"n_positions is {positions!r} in config.json, not a number of tokens")
        self.max_source = self.max_target = positions

    def encoder_states(self, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, Tensor]]:
        """Yield the index and the states of each input."""
        if not self._is_long:
            yield from packed_states(inputs, self._run_encoder)
            return
        for length in sorted(set(map(len, inputs))):
            same = [at for at, ids in enumerate(inputs) if len(ids) == length]
            ids = torch.tensor([list(inputs[at]) for at in same])
            yield from zip(same, self._encoder(input_ids=ids)[0].float(), strict=True)

    def _run_encoder(self, tokens: Tensor, positions: Tensor, lengths: Sequence[int]) -> Tensor:
        """Return the encoder's states, (tokens, hidden size)."""
        hidden: Tensor = self._encoder.embed_tokens(tokens)
        biases: dict[int, Tensor] = {}
        for layer in self._layers:
            if layer.position_embedding is not None:
                embedding, limit = layer.position_embedding, self._max_distance
                biases = {length: input_bias(embedding, length, limit) for length in set(lengths)}
            projected = layer.query_key_value(layer.attention_norm(hidden))
            attended = packed_attention(projected, layer.num_heads, lengths, 1.0, biases)
            (output,) = layer.attention_output(attended)
            hidden = hidden + output.to(hidden.dtype)
            intermediate, *gates = layer.intermediate(layer.intermediate_norm(hidden))
            intermediate = layer.activation(intermediate)
            for gate in gates:
                intermediate = intermediate * gate
            (output,) = layer.output(intermediate)
            hidden = hidden + output.to(hidden.dtype)
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
        """Run the decoder's layers."""
        hidden: Tensor = self._decoder.embed_tokens(tokens)
        distances = key_positions - positions[:, None]
        bias: Tensor | None = None
        for number, layer in enumerate(self._decoder_layers):
            if layer.position_embedding is not None:
                embedding, limit = layer.position_embedding, self._max_distance
                bias = position_bias(embedding, distances, limit, bidirectional=False)
            normed = layer.self_norm(hidden)
            attended = attend_to_tokens(layer.self_attention, normed, layer=number, bias=bias)
            hidden = hidden + attended
            normed = layer.cross_norm(hidden)
            hidden = hidden + cross_attention(layer.cross_attention, normed, encoded, number)
            hidden = hidden + layer.feed_forward(layer.feed_forward_norm(hidden))
        states: Tensor = self._decoder.final_layer_norm(hidden)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the token after each decoder state."""
        logits: Tensor = self._model.lm_head(states * output_scale(self._model)).float()
        return logits


def output_scale(model: PreTrainedModel) -> float:
    """Return the factor of the decoder's states in the product with the vocabulary.

    It is not 1 where the vocabulary of the output is that of the input.
    """
    config = model.config
    scales = _SCALES_STATES.get(config.model_type)
    if scales is None:
        scales = config.scale_decoder_outputs
    return float(config.d_model**-0.5) if scales else 1.0


def _encoder_layer(block: Any, linears: type[LinearGroup]) -> _EncoderLayer:
    attention, feed_forward = block.layer[0].SelfAttention, block.layer[-1].DenseReluDense
    gated = hasattr(feed_forward, "wi_0")
    return _EncoderLayer(
        position_embedding=_position_embedding(attention),
        attention_norm=block.layer[0].layer_norm,
        query_key_value=linears(attention.q, attention.k, attention.v),
        attention_output=linears(attention.o),
        intermediate_norm=block.layer[-1].layer_norm,
        intermediate=linears(
            *((feed_forward.wi_0, feed_forward.wi_1) if gated else (feed_forward.wi,))
        ),
        activation=feed_forward.act,
        output=FloatLinears(feed_forward.wo),
        num_heads=attention.n_heads,
    )


def _decoder_layer(block: Any) -> _DecoderLayer:
    own, cross, feed_forward = block.layer
    return _DecoderLayer(
        position_embedding=_position_embedding(own.SelfAttention),
        self_norm=own.layer_norm,
        self_attention=_attention(own.SelfAttention),
        cross_norm=cross.layer_norm,
        cross_attention=_attention(cross.EncDecAttention),
        feed_forward_norm=feed_forward.layer_norm,
        feed_forward=feed_forward.DenseReluDense,
    )


def _attention(module: Any) -> AttentionLayer:
    return AttentionLayer(module.q, module.k, module.v, module.o, module.n_heads, scale=1.0)


def _position_embedding(attention: Any) -> nn.Embedding | None:
    embedding: nn.Embedding | None = getattr(attention, "relative_attention_bias", None)
    return embedding
