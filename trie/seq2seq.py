"""BART, run step by step: one encoding per claim, shared by all beams of the claim.

transformers' ``generate`` repeats the encoder's output for every beam. Here the beams of a claim
are query positions of one cross attention, so that its keys and values are computed and read once
per claim: 1.8 s instead of 3.2 s for 25 beams of 20 tokens with BART-base on two CPU threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BartForConditionalGeneration
from transformers.models.bart.modeling_bart import BartAttention

# Variants that BART's configuration once had, or that its relatives have: where one of them is
# set, the order of operations below is not the model's.
_VARIANTS = (
    "normalize_before",
    "add_final_layer_norm",
    "add_final_layernorm",
    "static_position_embeddings",
)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded claims, as the decoder attends to them.

    Attributes
    ----------
    mask
        True where there is input, False at padding; bool, (claims, length).
    keys, values
        Of each decoder layer's cross attention; (claims, heads, length, head size).
    """

    mask: Tensor
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.mask)

    def select(self, claims: Sequence[int]) -> Encoded:
        """Return the encodings of some claims, by position."""
        rows = torch.tensor(claims, dtype=torch.int64, device=self.mask.device)
        return Encoded(
            self.mask.index_select(0, rows),
            tuple(keys.index_select(0, rows) for keys in self.keys),
            tuple(values.index_select(0, rows) for values in self.values),
        )


@dataclass(slots=True)
class Cache:
    """Self-attention keys and values of the decoded tokens; grows with each step.

    Attributes
    ----------
    length
        Number of tokens decoded so far, the start token included.
    keys, values
        For each decoder layer (claims * beams, heads, length, head size); empty at the start.
    """

    length: int
    keys: list[Tensor]
    values: list[Tensor]


class Seq2Seq:
    """A BART model as beam search needs it: encode once, then one token of every beam per step.

    Parameters
    ----------
    model
        Any BART, on any device. It is put into evaluation mode and otherwise left alone; weights
        that change later are seen.
    dtype
        ``torch.float32``, or ``torch.bfloat16`` to run matrix products under autocast. Logits
        are float32 either way.

    Raises
    ------
    ValueError
        If the model is not a post-norm BART, or the dtype is another.
    """

    def __init__(
        self, model: BartForConditionalGeneration, dtype: torch.dtype = torch.float32
    ) -> None:
        _check(model)
        if dtype not in (torch.float32, torch.bfloat16):
            raise ValueError(f"dtype is {dtype}; use torch.float32 or torch.bfloat16")
        self._model = model.eval()
        self._decoder = model.get_decoder()
        self._dtype = dtype
        config = model.config
        self.max_source: int = config.max_position_embeddings
        self.max_target: int = config.max_position_embeddings
        self.vocabulary: int = model.lm_head.out_features
        self.start = _token(model, "decoder_start_token_id")
        self.pad = _token(model, "pad_token_id")
        self.eos = _token(model, "eos_token_id")

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        return self._decoder.embed_tokens.weight.device

    @contextmanager
    def precision(self) -> Iterator[None]:
        """Run without gradients and in the chosen dtype.

        All methods do; a caller who takes many steps enters it once around them, so that autocast
        converts each weight once and not at every step.
        """
        autocast = torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self._dtype is torch.bfloat16
        )
        with torch.inference_mode(), autocast:
            yield

    def hidden(self, inputs: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Run the encoder alone over a batch, padded to its longest input.

        Takes and refuses the same inputs as `encode`.

        Returns
        -------
        Tensor
            Hidden states, (inputs, length, width).
        Tensor
            True where there is an input token, (inputs, length).
        """
        self._check_inputs(inputs)
        longest = max(len(ids) for ids in inputs)
        padded = [[*ids, *[self.pad] * (longest - len(ids))] for ids in inputs]
        ids = torch.tensor(padded, dtype=torch.int64, device=self.device)
        lengths = torch.tensor([len(i) for i in inputs], device=self.device)
        # By length, not by id: an input may hold the padding token.
        mask = torch.arange(longest, device=self.device) < lengths[:, None]
        with self.precision():
            encoder = self._model.get_encoder()
            found = encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return found, mask

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
                tuple(_split(c.k_proj(hidden), c.num_heads).contiguous() for c in crosses),
                tuple(_split(c.v_proj(hidden), c.num_heads).contiguous() for c in crosses),
            )

    def new_cache(self) -> Cache:
        """Return the cache of decodings that have not begun."""
        return Cache(0, [], [])

    def step(self, encoded: Encoded, cache: Cache, last_tokens: Tensor) -> Tensor:
        """Decode one more token of every beam.

        Parameters
        ----------
        encoded
            The claims.
        cache
            What was decoded before; grows by one token.
        last_tokens
            Last token of each beam; int64, (claims, beams) or (claims * beams). The start token
            at first.

        Returns
        -------
        Tensor
            Logits of the next token over the full vocabulary; float32, (claims, beams,
            vocabulary).

        Raises
        ------
        ValueError
            If the decoder has no position left.
        """
        if cache.length >= self.max_target:
            raise ValueError(f"the model decodes at most {self.max_target} tokens")
        decoder = self._decoder
        tokens = last_tokens.to(self.device).reshape(len(encoded), -1)
        with self.precision():
            position = torch.tensor([cache.length], device=self.device)
            hidden = decoder.embed_tokens(tokens)
            hidden = hidden + decoder.embed_positions(tokens, position_ids=position)
            hidden = decoder.layernorm_embedding(hidden)
            for at, layer in enumerate(decoder.layers):
                attended = _self_attention(layer.self_attn, hidden, cache, at)
                hidden = layer.self_attn_layer_norm(hidden + attended)
                attended = _cross_attention(layer.encoder_attn, hidden, encoded, at)
                hidden = layer.encoder_attn_layer_norm(hidden + attended)
                inner = layer.fc2(layer.activation_fn(layer.fc1(hidden)))
                hidden = layer.final_layer_norm(hidden + inner)
            logits: Tensor = self._model.lm_head(hidden).float()
            cache.length += 1
            return logits + self._model.final_logits_bias.float()

    def reorder(self, cache: Cache, beam_index: Tensor) -> Cache:
        """Return the cache of the beams that go on.

        Parameters
        ----------
        cache
            The cache before; not to be used any more.
        beam_index
            For each new beam the row, claim * beams + beam, that it continues; int64, any shape.
            Rows may be left out, which is how finished claims leave the batch.
        """
        rows = beam_index.reshape(-1).to(self.device)
        same = torch.arange(cache.keys[0].shape[0] if cache.keys else 0, device=self.device)
        if torch.equal(rows, same):  # saves the copy, often so for a few beams
            return cache
        with self.precision():
            return Cache(
                cache.length,
                [keys.index_select(0, rows) for keys in cache.keys],
                [values.index_select(0, rows) for values in cache.values],
            )

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


def _check(model: BartForConditionalGeneration) -> None:
    """Raise ValueError unless the decoder steps of this module are those of the model."""
    if not isinstance(model, BartForConditionalGeneration):
        raise ValueError(f"{type(model).__name__} is not a BartForConditionalGeneration")
    for name in _VARIANTS:
        if getattr(model.config, name, False):
            raise ValueError(f"BART with {name} is not supported; only the post-norm BART is")


def _token(model: BartForConditionalGeneration, name: str) -> int:
    """Return a token id of the model's configuration, which may lack it or hold several."""
    token = getattr(model.config, name, None)
    if not isinstance(token, int):
        raise ValueError(f"{name} in the model's configuration is {token!r}, not a token id")
    return token


def _split(projected: Tensor, heads: int) -> Tensor:
    """Bring (rows, length, features) to (rows, heads, length, head size)."""
    return projected.unflatten(-1, (heads, -1)).transpose(1, 2)


def _self_attention(attention: BartAttention, hidden: Tensor, cache: Cache, at: int) -> Tensor:
    """Attend to the beam's own tokens; puts the newest into the cache.

    `hidden` is (claims, beams, features), as is the result; each beam is a row of its own here.
    """
    rows = hidden.flatten(0, 1).unsqueeze(1)
    heads = attention.num_heads
    keys, values = _split(attention.k_proj(rows), heads), _split(attention.v_proj(rows), heads)
    if cache.length == 0:
        cache.keys.append(keys)
        cache.values.append(values)
    else:
        cache.keys[at] = torch.cat([cache.keys[at], keys], dim=2)
        cache.values[at] = torch.cat([cache.values[at], values], dim=2)
    queries = _split(attention.q_proj(rows), heads)
    # No mask: the cache holds nothing of the future.
    attended = F.scaled_dot_product_attention(queries, cache.keys[at], cache.values[at])
    out: Tensor = attention.out_proj(attended.transpose(1, 2).flatten(2))
    return out.view_as(hidden)


def _cross_attention(attention: BartAttention, hidden: Tensor, encoded: Encoded, at: int) -> Tensor:
    """Attend to the claim's input, its beams side by side as query positions."""
    queries = _split(attention.q_proj(hidden), attention.num_heads)
    attended = F.scaled_dot_product_attention(
        queries, encoded.keys[at], encoded.values[at], attn_mask=encoded.mask[:, None, None, :]
    )
    out: Tensor = attention.out_proj(attended.transpose(1, 2).flatten(2))
    return out
