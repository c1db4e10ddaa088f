"""A seq2seq model run step by step: each input is encoded once and shared by all its beams.

Two architectures: BART has absolute positions, and layer norms after each sub-layer. In T5,
Flan-T5, mT5, UMT5 and LongT5, positions are relative: a bias of the scores of self-attention, which
the layers share in all but UMT5. Norms come before each sub-layer, do not centre and have no bias,
scores are not divided by the square root of the head size, and no linear layer has a bias. The
encoder of LongT5 attends to the neighbourhood of each token; it is run as it is, for inputs of
equal length together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel
from transformers.utils import logging

from trie.attention import (
    AttentionLayer,
    EncodedInputs,
    EncoderLayer,
    FloatLinears,
    KVCache,
    LinearGroup,
    bfloat16_is_fast,
    convert_linears_to_bfloat16,
    cross_attention,
    linear_group_type,
    masked_self_attention,
    packed_attention,
    packed_encoder_states,
    packed_states,
    pad_batch,
    self_attention,
    split_heads,
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
            _t5_attention(block.layer[0].SelfAttention) for block in self._decoder.block
        ]
        self.cross_attentions: Sequence[AttentionLayer] = [
            _t5_attention(block.layer[1].EncDecAttention) for block in self._decoder.block
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


def _t5_attention(module: Any) -> AttentionLayer:
    return AttentionLayer(module.q, module.k, module.v, module.o, module.n_heads, scale=1.0)


def _position_embedding(attention: Any) -> nn.Embedding | None:
    embedding: nn.Embedding | None = getattr(attention, "relative_attention_bias", None)
    return embedding


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Turn off the progress bars and messages of transformers during the block."""
    untyped: Any = logging  # some of its functions have no annotations
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    untyped.set_verbosity_error()
    untyped.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            untyped.enable_progress_bar()


# Variants that BART's configuration once had, or that related models have. With any of them, the
# order of operations differs from that in `BartArchitecture`.
_UNSUPPORTED = (
    "normalize_before",
    "add_final_layer_norm",
    "add_final_layernorm",
    "static_position_embeddings",
)


class BartArchitecture:
    """A post-norm BART; see `trie.seq2seq.Architecture`.

    Raises `ValueError` if the model is another variant of BART.
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


class Architecture(Protocol):
    """A seq2seq model of some architecture, in evaluation mode."""

    # maximum number of tokens of an input and of an output
    max_source: int
    max_target: int
    cross_attentions: Sequence[AttentionLayer]  # the cross-attention of each decoder layer

    def __init__(self, model: PreTrainedModel, linears: type[LinearGroup]) -> None:
        """Wrap a model; `linears` implements the linear layers of its encoder."""
        ...

    def encoder_states(self, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, Tensor]]:
        """Yield the index and the states, float32, (tokens, hidden size), of each input.

        Called on the CPU only. The states of an input do not depend on the other inputs.
        """
        ...

    def decode(
        self,
        encoded: EncodedInputs,
        tokens: Tensor,
        positions: Tensor,
        key_positions: Tensor,
        attend_to_tokens: Callable[..., Tensor],
    ) -> Tensor:
        """Return the decoder's states; (inputs, beams, positions, hidden size).

        `tokens`, (inputs, beams, positions), are read at `positions`; they attend to the encoded
        inputs and, through `attend_to_tokens`, to the tokens at `key_positions`. It is
        `trie.attention.self_attention` or `masked_self_attention`, without the
        arguments for an attention layer, its input, its number and a bias.
        """
        ...

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the token after each decoder state; float32, (..., vocabulary)."""
        ...


_ARCHITECTURES: dict[str, type[Architecture]] = {
    "BartForConditionalGeneration": BartArchitecture,
    "T5ForConditionalGeneration": T5Architecture,
    "MT5ForConditionalGeneration": T5Architecture,
    "UMT5ForConditionalGeneration": T5Architecture,
    "LongT5ForConditionalGeneration": T5Architecture,
}


class Seq2Seq:
    """A seq2seq model for beam search: encode once, then decode one token of every beam per step.

    Parameters
    ----------
    model
        A post-norm BART, T5, mT5, UMT5 or LongT5 on any device, which is put into evaluation mode.
        Later changes of its weights take effect in float32. With other dtypes its linear layers are
        converted, and it cannot be used elsewhere.
    dtype
        ``torch.float32``; ``torch.bfloat16`` to run matrix products under autocast; or, on a CPU,
        ``torch.int8`` for the products of the encoder, with those of the decoder in bfloat16 where
        the CPU supports it. Logits are always float32.

    Attributes
    ----------
    max_source, max_target
        Maximum number of tokens of an input and of an output.
    vocab_size, hidden_size
        Number of tokens in the vocabulary, and size of a token's hidden state.
    start, pad, eos
        Ids of the decoder's start token, the padding token and the end token.

    Raises
    ------
    ValueError
        If the model has another architecture, its weights were converted before, or the dtype is
        unknown or not supported on the device or by the architecture.
    """

    def __init__(self, model: PreTrainedModel, dtype: torch.dtype = torch.float32) -> None:
        architecture = _architecture_type(model)
        _check_weights(model)
        if dtype not in (torch.float32, torch.bfloat16, torch.int8):
            raise ValueError(f"dtype is {dtype}; use torch.float32, torch.bfloat16 or torch.int8")
        self.dtype = dtype
        self._model: Any = model.eval()
        self._encoder_dtype = self._decoder_dtype = dtype
        self._architecture = architecture(model, linear_group_type(dtype, self.device))
        if dtype is torch.int8:
            fast = bfloat16_is_fast(self.device)
            self._encoder_dtype = torch.float32
            self._decoder_dtype = torch.bfloat16 if fast else torch.float32
        if self._encoder_dtype is torch.bfloat16:
            convert_linears_to_bfloat16(model.get_encoder())
        if self._decoder_dtype is torch.bfloat16:
            convert_linears_to_bfloat16(model.get_decoder())
            convert_linears_to_bfloat16(self._model.lm_head)
        self.max_source = self._architecture.max_source
        self.max_target = self._architecture.max_target
        self.vocab_size: int = self._model.lm_head.out_features
        self.hidden_size = int(model.config.d_model)
        self.start = _token_id(model, "decoder_start_token_id")
        self.pad = _token_id(model, "pad_token_id")
        self.eos = _token_id(model, "eos_token_id")

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        device: torch.device = self._model.get_input_embeddings().weight.device
        return device

    @contextmanager
    def inference_context(self) -> Iterator[None]:
        """Run without gradients and in the dtype of the decoder, as all methods do."""
        with self._autocast(self._decoder_dtype):
            yield

    @contextmanager
    def _autocast(self, dtype: torch.dtype) -> Iterator[None]:
        autocast = torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=dtype is torch.bfloat16
        )
        with torch.inference_mode(), autocast:
            yield

    def run_encoder(self, inputs: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return the encoder's states, (inputs, length, hidden size), and which are not padding.

        Inputs are checked as in `encode`. On a CPU no padding is computed, and the states of an
        input do not depend on the batch.
        """
        self._check_inputs(inputs)
        if self.device.type == "cpu":
            with self._autocast(self._encoder_dtype):
                states = dict(self._architecture.encoder_states(inputs))
            masks = [torch.ones(len(ids), dtype=torch.bool) for ids in inputs]
            hidden = pad_sequence([states[at] for at in range(len(inputs))], batch_first=True)
            return hidden, pad_sequence(masks, batch_first=True)
        ids, mask = (tensor.to(self.device) for tensor in pad_batch(inputs, self.pad))
        with self._autocast(self._encoder_dtype):
            encoder = self._model.get_encoder()
            hidden = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden, mask.bool()

    def encode(self, inputs: Sequence[Sequence[int]]) -> EncodedInputs:
        """Run the encoder over a batch and compute the keys and values of the cross-attention.

        Inputs are given as token ids, including special tokens.

        Raises ValueError if there are no inputs; an input is empty, longer than `max_source` or
        contains an id outside the vocabulary; or the model is in training mode.
        """
        hidden, mask = self.run_encoder(inputs)
        with self.inference_context():
            crosses = self._architecture.cross_attentions
            return EncodedInputs(
                mask,
                tuple(map(len, inputs)),
                tuple(split_heads(c.key(hidden), c.num_heads).contiguous() for c in crosses),
                tuple(split_heads(c.value(hidden), c.num_heads).contiguous() for c in crosses),
            )

    def new_cache(self) -> KVCache:
        """Return an empty KV cache."""
        return KVCache(0, [], [])

    def step(self, encoded: EncodedInputs, cache: KVCache, tokens: Tensor) -> Tensor:
        """Return the logits of the token after each; (inputs, beams, positions, vocabulary).

        `tokens` holds the last token of each beam, and any tokens known to follow it; int64,
        (inputs, beams, positions). The first token is the start token. The cache is extended.

        Raises ValueError if the decoder has too few positions left.
        """
        length = cache.length + tokens.shape[-1]
        if length > self.max_target:
            raise ValueError(f"the model decodes at most {self.max_target} tokens")
        tokens = tokens.to(self.device)
        with self.inference_context():
            positions = torch.arange(length, device=self.device)
            attend = partial(self_attention, cache=cache)
            hidden = self._architecture.decode(
                encoded, tokens, positions[cache.length :], positions, attend
            )
            cache.length = length
            return self.logits(hidden)

    def tree_states(
        self, encoded: EncodedInputs, tokens: Tensor, depths: Tensor, visible: Tensor
    ) -> Tensor:
        """Return the decoder's states after the prefixes of sequences, (prefixes, hidden size).

        There is one encoded input, and each prefix is computed once. `tokens` are the last ones of
        the prefixes, and `depths` the numbers of tokens before them; int64, (prefixes,). `visible`
        says which prefixes each prefix begins with, itself included; bool, (prefixes, prefixes).

        Raises ValueError if the decoder has too few positions.
        """
        if len(depths) and int(depths.max()) >= self.max_target:
            raise ValueError(f"the model decodes at most {self.max_target} tokens")
        with self.inference_context():
            attend = partial(masked_self_attention, visible=visible.to(self.device))
            rows, depths = tokens.to(self.device)[None, None], depths.to(self.device)
            return self._architecture.decode(encoded, rows, depths, depths, attend)[0, 0]

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the token after each decoder state; float32, (..., vocabulary)."""
        with self.inference_context():
            return self._architecture.logits(states)

    def reorder(self, cache: KVCache, beam_index: Tensor) -> KVCache:
        """Return the cache of the beams that continue; the previous one is not to be used again.

        `beam_index` holds, for each new beam, the row (input * beams + beam) that it extends;
        int64, any shape, in host memory. Leaving rows out removes finished inputs from the batch.
        """
        rows = beam_index.reshape(-1)
        if torch.equal(rows, torch.arange(cache.keys[0].shape[0] if cache.keys else 0)):
            return cache  # saves a copy; frequent with few beams
        rows = rows.to(self.device)
        with self.inference_context():
            keys = [layer.index_select(0, rows) for layer in cache.keys]
            return KVCache(cache.length, keys, [v.index_select(0, rows) for v in cache.values])

    def _check_inputs(self, inputs: Sequence[Sequence[int]]) -> None:
        if self._model.training:
            raise ValueError("the model is in training mode; call its eval()")
        if not inputs:
            raise ValueError("there are no inputs to encode")
        for at, ids in enumerate(inputs):
            if not 1 <= len(ids) <= self.max_source:
                raise ValueError(
                    f"input {at} has {len(ids)} tokens; the model takes 1 to {self.max_source}"
                )
            if min(ids) < 0 or max(ids) >= self.vocab_size:
                raise ValueError(
                    f"input {at} contains a token id outside the model's vocabulary of "
                    f"{self.vocab_size}; do model and tokenizer belong to the same checkpoint?"
                )


def _architecture_type(model: PreTrainedModel) -> type[Architecture]:
    for kind in type(model).__mro__:
        if kind.__name__ in _ARCHITECTURES:
            return _ARCHITECTURES[kind.__name__]
    raise ValueError(f"{type(model).__name__} is not one of {', '.join(_ARCHITECTURES)}")


def _check_weights(model: PreTrainedModel) -> None:
    for name, layer in model.named_modules():
        if not isinstance(layer, nn.Linear):
            continue
        if layer.weight.dtype is not torch.float32:
            raise ValueError(f"{name} has weights in {layer.weight.dtype}; load them in float32")
        if not layer.weight.numel():
            raise ValueError(f"the weights of {name} were converted; load the model again")


def _token_id(model: PreTrainedModel, name: str) -> int:
    token = getattr(model.config, name, None)  # a configuration may lack it or hold several
    if not isinstance(token, int):
        raise ValueError(f"{name} in the model's configuration is {token!r}, not a token id")
    return token
