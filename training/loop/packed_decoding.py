"""The decoder in training: the targets of an input share a row, in which each sees only itself.

Packing saves work: the keys and values of the cross-attention are computed once for all targets of
an input.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F
from transformers import PreTrainedModel

from training.data.batches import SequenceBatch
from trie.model.shared_attention import split_heads
from trie.model.t5 import output_scale, position_bias


def packed_decoder(
    model: PreTrainedModel, hidden: torch.Tensor, batch: SequenceBatch
) -> torch.Tensor:
    """Return the decoder's states for targets that share a row, (batch, target length, width).

    Each target attends to its own earlier tokens and to the encoder's states, as it would in a row
    of its own.

    Parameters
    ----------
    model
        A post-norm BART or a model of T5's family.
    hidden
        The encoder's states, (batch, source length, width).
    batch
        The packed targets.
    """
    order = torch.arange(batch.segments.shape[1], device=hidden.device)
    seen = (batch.segments[:, :, None] == batch.segments[:, None]) & (order[:, None] >= order)
    decode = _bart_states if model.config.model_type == "bart" else _t5_states
    return decode(model.get_decoder(), hidden, batch, seen)


def vocabulary_logits(model: Any, states: torch.Tensor) -> torch.Tensor:
    """Return the logits of the token after each decoder state, (..., vocabulary)."""
    if model.config.model_type == "bart":
        logits: torch.Tensor = model.lm_head(states) + model.final_logits_bias
    else:
        logits = model.lm_head(states * output_scale(model))
    return logits


def _bart_states(
    decoder: Any, hidden: torch.Tensor, batch: SequenceBatch, seen: torch.Tensor
) -> torch.Tensor:
    positions = decoder.embed_positions
    states: torch.Tensor = decoder.embed_tokens(batch.decoder_ids)
    states = states + F.embedding(batch.positions + positions.offset, positions.weight)
    states = decoder.layernorm_embedding(states)
    states = F.dropout(states, p=decoder.dropout, training=decoder.training)
    own = _additive(seen[:, None], states.dtype)
    cross = _additive(batch.attention_mask[:, None, None] > 0, states.dtype)
    for layer in decoder.layers:
        states = layer(states, own, hidden, encoder_attention_mask=cross, use_cache=False)
    return states


def _t5_states(
    decoder: Any, hidden: torch.Tensor, batch: SequenceBatch, seen: torch.Tensor
) -> torch.Tensor:
    states: torch.Tensor = decoder.dropout(decoder.embed_tokens(batch.decoder_ids))
    mask = _additive(seen[:, None], states.dtype)
    cross_mask = _additive(batch.attention_mask[:, None, None] > 0, states.dtype)
    distances = batch.positions[:, None] - batch.positions[:, :, None]
    own_mask = mask
    for block in decoder.block:
        own, cross, feed_forward = block.layer
        attention = own.SelfAttention
        if attention.has_relative_attention_bias:
            limit = attention.relative_attention_max_distance
            embedding = attention.relative_attention_bias
            bias = position_bias(embedding, distances, limit, bidirectional=False)
            own_mask = mask + bias.transpose(0, 1)
        normed = own.layer_norm(states)
        states = states + own.dropout(_attend(attention, normed, normed, own_mask))
        normed = cross.layer_norm(states)
        attended = _attend(cross.EncDecAttention, normed, hidden, cross_mask)
        states = feed_forward(states + cross.dropout(attended))
    states = decoder.dropout(decoder.final_layer_norm(states))
    return states


def _attend(
    attention: Any, states: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return the output of a T5 attention layer, whose scores are not scaled."""
    query = split_heads(attention.q(states), attention.n_heads)
    key = split_heads(attention.k(memory), attention.n_heads)
    value = split_heads(attention.v(memory), attention.n_heads)
    weights = (query @ key.transpose(-1, -2) + mask).softmax(-1)
    weights = F.dropout(weights, p=attention.dropout, training=attention.training)
    out: torch.Tensor = attention.o((weights @ value).transpose(1, 2).flatten(2))
    return out


def _additive(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask to be added to attention scores: 0, or the lowest number of its type."""
    zeros = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return zeros.masked_fill(~allowed, torch.finfo(dtype).min)
