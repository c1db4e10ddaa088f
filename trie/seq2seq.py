"""A seq2seq model for encoding and beam search.

The encoder, and the whole of most models, is run by transformers. The decoder of BART is run here,
one token of every beam per step: ``generate`` repeats the encoder's output for every beam, while
here the beams of an input are query positions of one cross-attention, so that its keys and values
are computed and read once per input. With 25 beams this takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import logging

# Tokens of an input or output where the configuration does not say how many, as that of T5: it has
# no limit, and checkpoints are trained with this length.
_DEFAULT_POSITIONS = 512
# Variants that BART's configuration once had, or that related models have. With any of them, the
# order of operations differs from that in `Seq2Seq.step`.
_UNSUPPORTED = (
    "normalize_before",
    "add_final_layer_norm",
    "add_final_layernorm",
    "static_position_embeddings",
)


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


@dataclass(frozen=True, slots=True)
class EncodedInputs:
    """Encoded inputs, as the decoder of BART attends to them."""

    mask: Tensor  # True at input tokens, False at padding; bool, (inputs, length)
    # Keys and values of each decoder layer's cross-attention; (inputs, heads, length, head size).
    layers: list[tuple[Tensor, Tensor]]

    def select(self, rows: Tensor) -> EncodedInputs:
        """Return the encodings of some of the inputs."""
        layers = [(keys[rows], values[rows]) for keys, values in self.layers]
        return EncodedInputs(self.mask[rows], layers)


class KVCache:
    """Self-attention keys and values of the decoded tokens of each beam; grows with each step."""

    def __init__(self) -> None:
        self.length = 0  # tokens decoded so far, including the start token
        # For each decoder layer; (beams, heads, length, head size).
        self.layers: list[tuple[Tensor, Tensor]] = []

    def append(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of the newest token, and return all of the layer."""
        if layer == len(self.layers):
            self.layers.append((keys, values))
        else:
            before = self.layers[layer]
            self.layers[layer] = torch.cat([before[0], keys], 2), torch.cat([before[1], values], 2)
        return self.layers[layer]

    def reorder(self, rows: Tensor) -> None:
        """Keep the beams of these rows, which may repeat."""
        self.layers = [
            (keys.index_select(0, rows), values.index_select(0, rows))
            for keys, values in self.layers
        ]


class Seq2Seq:
    """A seq2seq model in evaluation mode, for `trie.beam_search`.

    Parameters
    ----------
    model
        A seq2seq model of transformers on any device. In bfloat16 its linear layers are converted,
        and it cannot be used elsewhere.
    dtype
        ``torch.float32``, or ``torch.bfloat16`` to run matrix products under autocast. Logits are
        always float32.

    Attributes
    ----------
    is_bart
        Whether the decoder is run here (a post-norm BART), and not by transformers.
    max_source, max_target
        Maximum number of tokens of an input and of an output.
    vocab_size, hidden_size
        Number of tokens in the vocabulary, and size of a token's hidden state.
    start, pad, eos
        Ids of the decoder's start token, the padding token and the end token.

    Raises
    ------
    ValueError
        If the model is a BART with other norms, its weights are not in float32, the configuration
        lacks the id of a token, or the dtype is unknown.
    """

    def __init__(self, model: PreTrainedModel, dtype: torch.dtype = torch.float32) -> None:
        if dtype not in (torch.float32, torch.bfloat16):
            raise ValueError(f"dtype is {dtype}; use torch.float32 or torch.bfloat16")
        config: Any = model.config
        self.is_bart = config.model_type == "bart"
        for name in _UNSUPPORTED if self.is_bart else ():
            if getattr(config, name, False):
                raise ValueError(f"BART with {name} is not supported; only the post-norm BART is")
        for name, layer in model.named_modules():
            if isinstance(layer, nn.Linear) and layer.weight.dtype is not torch.float32:
                raise ValueError(
                    f"{name} has weights in {layer.weight.dtype}; load them in float32"
                )
        self.dtype = dtype
        self.model: Any = model.eval()
        if self.device.type == "cpu":
            # For many beams, and heads of few features, torch's fused kernel takes up to three
            # times as long.
            self.model.set_attn_implementation("eager")
        if dtype is torch.bfloat16:
            convert_linears_to_bfloat16(model)
        name = "max_position_embeddings" if self.is_bart else "n_positions"
        positions = getattr(config, name, None) or _DEFAULT_POSITIONS
        if not isinstance(positions, int) or positions < 1:
            raise ValueError(f"{name} is {positions!r} in config.json, not a number of tokens")
        self.max_source = self.max_target = positions
        self.vocab_size: int = self.model.get_output_embeddings().out_features
        self.hidden_size = int(config.d_model)
        self.start = _token_id(model, "decoder_start_token_id")
        self.pad = _token_id(model, "pad_token_id")
        self.eos = _token_id(model, "eos_token_id")

    @property
    def device(self) -> torch.device:
        """The device that holds the weights."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    @contextmanager
    def inference_context(self) -> Iterator[None]:
        """Run without gradients and in the dtype of the model, as all methods do."""
        enabled = self.dtype is torch.bfloat16
        with (
            torch.inference_mode(),
            torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=enabled),
        ):
            yield

    def pad_inputs(self, inputs: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return the padded inputs and their attention mask, on the device of the model.

        Raises ValueError if there are no inputs, or one is empty, longer than `max_source` or
        contains an id outside the vocabulary.
        """
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
        padded, mask = pad_batch(inputs, self.pad)
        return padded.to(self.device), mask.to(self.device)

    def run_encoder(self, inputs: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return the encoder's states, (inputs, length, hidden size), and which are not padding.

        Inputs are token ids, including special tokens; they are checked as in `pad_inputs`.
        """
        ids, mask = self.pad_inputs(inputs)
        with self.inference_context():
            hidden = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden.float(), mask.bool()

    def encode(self, inputs: Sequence[Sequence[int]]) -> EncodedInputs:
        """Encode a batch, with the keys and values of the cross-attention of BART's decoder."""
        hidden, mask = self.run_encoder(inputs)
        with self.inference_context():
            crosses = [layer.encoder_attn for layer in self.model.get_decoder().layers]
            return EncodedInputs(
                mask,
                [
                    (
                        split_heads(cross.k_proj(hidden), cross.num_heads).contiguous(),
                        split_heads(cross.v_proj(hidden), cross.num_heads).contiguous(),
                    )
                    for cross in crosses
                ],
            )

    def step(self, encoded: EncodedInputs, cache: KVCache, tokens: Tensor) -> Tensor:
        """Return the logits after the last token of each beam of a BART; (beams, vocabulary).

        `tokens` is int64, (inputs, beams); the first ones are the start token. The cache is
        extended.
        """
        decoder = self.model.get_decoder()
        position = torch.tensor([cache.length], device=self.device)
        hidden = decoder.embed_tokens(tokens) + decoder.embed_positions(
            tokens, position_ids=position
        )
        hidden = decoder.layernorm_embedding(hidden)
        for number, (layer, (keys, values)) in enumerate(
            zip(decoder.layers, encoded.layers, strict=True)
        ):
            # Each beam is a row of its own, and attends to its own tokens.
            own, rows = layer.self_attn, hidden.flatten(0, 1)[:, None]
            query, key, value = (
                split_heads(projection(rows), own.num_heads)
                for projection in (own.q_proj, own.k_proj, own.v_proj)
            )
            attended = own.out_proj(attend(query, *cache.append(number, key, value)))
            hidden = layer.self_attn_layer_norm(hidden + attended.view_as(hidden))
            cross = layer.encoder_attn
            query = split_heads(cross.q_proj(hidden), cross.num_heads)
            attended = attend(query, keys, values, encoded.mask[:, None, None])
            hidden = layer.encoder_attn_layer_norm(hidden + cross.out_proj(attended))
            output = layer.fc2(layer.activation_fn(layer.fc1(hidden)))
            hidden = layer.final_layer_norm(hidden + output)
        cache.length += 1
        logits: Tensor = self.model.lm_head(hidden).float() + self.model.final_logits_bias
        return logits.flatten(0, 1)


def _token_id(model: PreTrainedModel, name: str) -> int:
    token = getattr(model.config, name, None)  # a configuration may lack it or hold several
    if not isinstance(token, int):
        raise ValueError(f"{name} in the model's configuration is {token!r}, not a token id")
    return token


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
    copy; the embedding is not changed.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = _converted(layer.weight)
            if layer.bias is not None:
                layer.bias = _converted(layer.bias)


def _converted(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().to(torch.bfloat16), requires_grad=False)


def split_heads(projected: Tensor, heads: int) -> Tensor:
    """Reshape (rows, length, features) to (rows, heads, length, head size)."""
    split: Tensor = projected.unflatten(-1, (heads, -1)).transpose(1, 2)
    return split


def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the outputs of all heads side by side, (rows, queries, features).

    The arguments are (rows, heads, length, head size); `mask` is True where attention is allowed.
    """
    # torch's fused kernel takes up to three times as long for many beams on a CPU.
    scores = queries * queries.shape[-1] ** -0.5 @ keys.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    attended: Tensor = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
    return attended
