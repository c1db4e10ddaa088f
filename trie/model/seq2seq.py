"""BART, run step by step: one encoding per claim, shared by all beams of the claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import BartForConditionalGeneration

from trie.model.bart import check_model, embedded, encoder_layers, token_of
from trie.model.bfloat16 import bfloat16_is_fast, keep_bfloat16
from trie.model.int8 import products_of
from trie.model.packed_encoder import packed_states
from trie.model.padding import padded
from trie.model.shared_attention import Cache, Encoded, cross_attention, self_attention, split_heads


class Seq2Seq:
    """A BART model as beam search needs it: encode once, then one token of every beam per step.

    Parameters
    ----------
    model
        Any BART, on any device. It is put into evaluation mode. In float32 it is otherwise left
        alone, and weights that change later are seen. In other precisions its linear layers give
        up their weights for those that are multiplied: it is of use here only.
    dtype
        ``torch.float32``, or ``torch.bfloat16`` to run matrix products under autocast, or, on a
        processor, ``torch.int8`` for those of the encoder; the decoder's then are in bfloat16
        where the processor has it. Logits are float32 in any case.

    Raises
    ------
    ValueError
        If the model is not a post-norm BART, its weights were given up, the dtype is another, or
        int8 is not to be had.
    """

    def __init__(
        self, model: BartForConditionalGeneration, dtype: torch.dtype = torch.float32
    ) -> None:
        check_model(model)
        if dtype not in (torch.float32, torch.bfloat16, torch.int8):
            raise ValueError(f"dtype is {dtype}; use torch.float32, torch.bfloat16 or torch.int8")
        self.dtype = dtype
        self._model = model.eval()
        self._decoder = model.get_decoder()
        # Of the encoder, and of all else.
        self._dtypes = dtype, dtype
        self._layers = encoder_layers(model, products_of(dtype, self.device))
        if dtype is torch.int8:
            fast = bfloat16_is_fast(self.device)
            self._dtypes = torch.float32, torch.bfloat16 if fast else torch.float32
        if self._dtypes[1] is torch.bfloat16:
            keep_bfloat16(model)
        config = model.config
        self.max_source: int = config.max_position_embeddings
        self.max_target: int = config.max_position_embeddings
        self.vocabulary: int = model.lm_head.out_features
        self.start = token_of(model, "decoder_start_token_id")
        self.pad = token_of(model, "pad_token_id")
        self.eos = token_of(model, "eos_token_id")

    @property
    def width(self) -> int:
        """Numbers of a token's state."""
        return int(self._model.config.d_model)

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return self._decoder.embed_tokens.weight.device

    @contextmanager
    def precision(self) -> Iterator[None]:
        """Run without gradients and in the chosen dtype.

        All methods do; what a caller computes with their results goes inside, too.
        """
        with self._running(self._dtypes[1]):
            yield

    @contextmanager
    def _running(self, dtype: torch.dtype) -> Iterator[None]:
        autocast = torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=dtype is torch.bfloat16
        )
        with torch.inference_mode(), autocast:
            yield

    def hidden(self, inputs: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Run the encoder alone over a batch.

        Takes and refuses the same inputs as `encode`. On a processor no padding is computed, and
        the states of an input are the same in any batch.

        Returns
        -------
        Tensor
            Hidden states, (inputs, length, width), where `length` is that of the longest input.
        Tensor
            True where there is an input token, (inputs, length).
        """
        self._check_inputs(inputs)
        if self.device.type == "cpu":
            with self._running(self._dtypes[0]):
                embed = partial(embedded, self._model)
                states = dict(packed_states(inputs, embed, self._layers))
            masks = [torch.ones(len(ids), dtype=torch.bool) for ids in inputs]
            hidden = pad_sequence([states[at] for at in range(len(inputs))], batch_first=True)
            return hidden, pad_sequence(masks, batch_first=True)
        ids, mask = (one.to(self.device) for one in padded(inputs, self.pad))
        with self._running(self._dtypes[0]):
            encoder = self._model.get_encoder()
            found = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return found, mask.bool()

    def encode(self, inputs: Sequence[Sequence[int]]) -> Encoded:
        """Run the encoder over a batch and prepare the decoder's cross-attention.

        Parameters
        ----------
        inputs
            Token ids of each claim's input, special tokens included.

        Raises
        ------
        ValueError
            If there are no inputs, or one is empty, longer than `max_source` or holds an id that
            the vocabulary lacks, or if the model is in training mode.
        """
        hidden, mask = self.hidden(inputs)
        with self.precision():
            crosses = [layer.encoder_attn for layer in self._decoder.layers]
            return Encoded(
                mask,
                tuple(map(len, inputs)),
                tuple(split_heads(c.k_proj(hidden), c.num_heads).contiguous() for c in crosses),
                tuple(split_heads(c.v_proj(hidden), c.num_heads).contiguous() for c in crosses),
            )

    def new_cache(self) -> Cache:
        """Return the cache of decodings that have not begun."""
        return Cache(0, [], [])

    def step(self, encoded: Encoded, cache: Cache, tokens: Tensor) -> Tensor:
        """Decode the next tokens of every beam.

        Parameters
        ----------
        encoded
            The claims.
        cache
            What was decoded before; grows by these tokens.
        tokens
            Of each beam its last token, and any more that are known to follow it; int64, (claims,
            beams, positions). The start token comes first of all.

        Returns
        -------
        Tensor
            Logits of what follows each token over the full vocabulary; float32, (claims, beams,
            positions, vocabulary).

        Raises
        ------
        ValueError
            If the decoder has too few positions left.
        """
        decoder, length = self._decoder, cache.length + tokens.shape[-1]
        if length > self.max_target:
            raise ValueError(f"the model decodes at most {self.max_target} tokens")
        tokens = tokens.to(self.device)
        with self.precision():
            positions = torch.arange(cache.length, length, device=self.device)
            hidden = decoder.embed_tokens(tokens)
            hidden = hidden + decoder.embed_positions(tokens, position_ids=positions)
            hidden = decoder.layernorm_embedding(hidden)
            for at, layer in enumerate(decoder.layers):
                attended = self_attention(layer.self_attn, hidden, cache, at)
                hidden = layer.self_attn_layer_norm(hidden + attended)
                attended = cross_attention(layer.encoder_attn, hidden, encoded, at)
                hidden = layer.encoder_attn_layer_norm(hidden + attended)
                inner = layer.fc2(layer.activation_fn(layer.fc1(hidden)))
                hidden = layer.final_layer_norm(hidden + inner)
            logits: Tensor = self._model.lm_head(hidden).float()
            cache.length = length
            return logits.add_(self._model.final_logits_bias.float())

    def reorder(self, cache: Cache, beam_index: Tensor) -> Cache:
        """Return the cache of the beams that go on.

        Parameters
        ----------
        cache
            The cache before; not to be used any more.
        beam_index
            For each new beam the row, claim * beams + beam, that it continues; int64, any shape,
            in host memory. Rows may be left out, which is how finished claims leave the batch.
        """
        rows = beam_index.reshape(-1)
        if torch.equal(rows, torch.arange(cache.keys[0].shape[0] if cache.keys else 0)):
            return cache  # saves the copy, often so for a few beams
        rows = rows.to(self.device)
        with self.precision():
            keys = [layer.index_select(0, rows) for layer in cache.keys]
            return Cache(cache.length, keys, [v.index_select(0, rows) for v in cache.values])

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
            if min(ids) < 0 or max(ids) >= self.vocabulary:
                raise ValueError(
                    f"input {at} holds a token id outside the model's vocabulary of "
                    f"{self.vocabulary}; are model and tokenizer of the same checkpoint?"
                )
