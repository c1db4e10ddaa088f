"""A seq2seq model run step by step: each input is encoded once and shared by all its beams.

BART (absolute positions, layer norms after each sub-layer) is here; T5 is in `trie.t5`.
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
    KVCache,
    LinearGroup,
    bfloat16_is_fast,
    convert_linears_to_bfloat16,
    cross_attention,
    linear_group_type,
    masked_self_attention,
    packed_encoder_states,
    pad_batch,
    self_attention,
    split_heads,
)
from trie.t5 import T5Architecture


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

        Raises
        ------
        ValueError
            If there are no inputs; an input is empty, longer than `max_source` or contains an id
            outside the vocabulary; or the model is in training mode.
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

        Raises
        ------
        ValueError
            If the decoder has too few positions left.
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

        Raises
        ------
        ValueError
            If the decoder has too few positions.
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
