"""The architecture of BART: absolute positions, and layer norms after each sub-layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from trie.model.packed_encoder import EncoderLayer, LinearGroup, packed_encoder_states
from trie.model.shared_attention import AttentionLayer, EncodedInputs, cross_attention

# Variants that BART's configuration once had, or that related models have. With any of them, the
# order of operations differs from that in `BartArchitecture`.
_UNSUPPORTED = (
    "normalize_before",
    "add_final_layer_norm",
    "add_final_layernorm",
    "static_position_embeddings",
)


class BartArchitecture:
    """A post-norm BART; see `trie.model.seq2seq.Architecture`.

    Raises
    ------
    ValueError
        If the model is another variant of BART.
    """

    def __init__(self, model: PreTrainedModel, linears: type[LinearGroup]) -> None:
        for name in _UNSUPPORTED:
            if getattr(model.config, name, False):
                raise ValueError(f"BART with {name} is not supported; only the post-norm BART is")
        self._model: Any = model
        self._decoder: Any = model.get_decoder()
        self._layers = _encoder_layers(self._model, linears)
        self._self_attentions = [_attention(layer.self_attn) for layer in self._decoder.layers]
        self.cross_attentions: Sequence[AttentionLayer] = [
            _attention(layer.encoder_attn) for layer in self._decoder.layers
        ]
        self.max_source: int = model.config.max_position_embeddings
        self.max_target: int = model.config.max_position_embeddings

    def encoder_states(self, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, Tensor]]:
        yield from packed_encoder_states(inputs, self._embed, self._layers)

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        encoder = self._model.get_encoder()
        position_states = encoder.embed_positions(tokens, position_ids=positions)[0]
        embedded = encoder.embed_tokens(tokens) + position_states
        states: Tensor = encoder.layernorm_embedding(embedded)
        return states

    def decode(
        self,
        encoded: EncodedInputs,
        tokens: Tensor,
        positions: Tensor,
        key_positions: Tensor,
        attend_to_tokens: Callable[..., Tensor],
    ) -> Tensor:
        decoder = self._decoder
        hidden: Tensor = decoder.embed_tokens(tokens)
        hidden = hidden + decoder.embed_positions(tokens, position_ids=positions)
        hidden = decoder.layernorm_embedding(hidden)
        for number, layer in enumerate(decoder.layers):
            attended = attend_to_tokens(self._self_attentions[number], hidden, layer=number)
            hidden = layer.self_attn_layer_norm(hidden + attended)
            attended = cross_attention(self.cross_attentions[number], hidden, encoded, number)
            hidden = layer.encoder_attn_layer_norm(hidden + attended)
            output = layer.fc2(layer.activation_fn(layer.fc1(hidden)))
            hidden = layer.final_layer_norm(hidden + output)
        return hidden

    def logits(self, states: Tensor) -> Tensor:
        logits: Tensor = self._model.lm_head(states).float()
        return logits.add_(self._model.final_logits_bias.float())


def _attention(module: Any) -> AttentionLayer:
    projections = module.q_proj, module.k_proj, module.v_proj, module.out_proj
    return AttentionLayer(*projections, num_heads=module.num_heads)


def _encoder_layers(model: Any, linears: type[LinearGroup]) -> list[EncoderLayer]:
    return [
        EncoderLayer(
            query_key_value=linears(
                layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj
            ),
            attention_output=linears(layer.self_attn.out_proj),
            attention_norm=layer.self_attn_layer_norm,
            intermediate=linears(layer.fc1),
            activation=layer.activation_fn,
            output=linears(layer.fc2),
            output_norm=layer.final_layer_norm,
            num_heads=layer.self_attn.num_heads,
        )
        for layer in model.get_encoder().layers
    ]
