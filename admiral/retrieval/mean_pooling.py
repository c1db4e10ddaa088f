"""Sentence encoders with mean pooling, such as all-MiniLM-L6-v2."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer

from admiral.kb.embeddings import EncoderIdentity
from admiral.storage.checksums import describe_file
from trie.model.low_precision import convert_linears_to_bfloat16, linear_group_type
from trie.model.packed_encoder import EncoderLayer, LinearGroup, packed_encoder_states, pad_batch

if TYPE_CHECKING:
    from transformers import BertModel


#: Number of tokens of a sentence that are read, with the two special tokens, and of a passage.
MAX_TOKENS, PASSAGE_TOKENS = 128, 256
# Files that determine the vectors of texts.
_FILES = ("config.json", "tokenizer.json", "model.safetensors")


class MeanPoolingEncoder:
    """Encode texts as the mean of the states of their tokens, scaled to length 1.

    Parameters
    ----------
    directory
        A sentence encoder in the Hugging Face format with mean pooling.
    device, dtype
        Device and precision: float32, bfloat16, or int8 on processors that support it (see
        `trie.model.low_precision`).
    batch_tokens
        Maximum number of padded tokens in a batch on a GPU; inputs on a CPU are not padded.
    max_tokens
        Number of tokens of a text that are read, with the two special tokens; fewer if the encoder
        has fewer positions.

    Raises
    ------
    ValueError
        If int8 is not supported here.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        *,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        batch_tokens: int = 4096,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer

        from trie.model.quiet_transformers import quiet_transformers

        self._directory, self._name = directory, name
        products = linear_group_type(dtype, torch.device(device))
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
            self.model = AutoModel.from_pretrained(directory, local_files_only=True)
        self.model.to(device).eval()
        self._max_tokens = max_tokens = min(max_tokens, self.model.config.max_position_embeddings)
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        self._pad = tokenizer.pad_token_id
        self._layers = _layers(self.model, products)
        if dtype is torch.bfloat16:
            convert_linears_to_bfloat16(self.model)
        self._device, self._dtype, self._batch_tokens = device, dtype, batch_tokens

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Name, and checksum of the model and the number of tokens; not of its precision."""
        sums = [describe_file(self._directory / name).sha256 for name in _FILES]
        recipe = " ".join([*sums, f"mean of {self._max_tokens} tokens"])
        fingerprint = hashlib.sha256(recipe.encode()).hexdigest()
        return EncoderIdentity(self._name, fingerprint, self.model.config.hidden_size)

    @torch.inference_mode()
    def unit_vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the unit vectors of texts: float32, (texts, width), in host memory."""
        means = torch.empty(len(texts), self.model.config.hidden_size)
        for position, states in self._text_states(texts):
            means[position] = states.mean(0)
        return torch.nn.functional.normalize(means, dim=-1)

    @torch.inference_mode()
    def token_states(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """Return the states of each text's tokens: float32, (tokens, width), in host memory.

        The first and the last are those of the special tokens.
        """
        return [states for _, states in sorted(self._text_states(texts), key=itemgetter(0))]

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a text that are read, without the special tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _text_states(self, texts: Sequence[str]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the position and the states, (tokens, width), of each text."""
        rows = [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts))]
        with torch.autocast(
            torch.device(self._device).type,
            dtype=torch.bfloat16,
            enabled=self._dtype is torch.bfloat16,
        ):
            for position, states in self._states(rows):
                yield position, states.cpu()

    def _states(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the position and the encoder states, (tokens, width), of each input."""
        if torch.device(self._device).type == "cpu":
            yield from packed_encoder_states(rows, self._embedded, self._layers)
            return
        for positions in batch_by_length([len(row) for row in rows], self._batch_tokens):
            ids, mask = pad_batch([rows[position] for position in positions], self._pad)
            hidden = self.model(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device)
            ).last_hidden_state.float()
            for position, states in zip(positions, hidden, strict=True):
                yield position, states[: len(rows[position])]

    def _embedded(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        embedded: torch.Tensor = self.model.embeddings(tokens[None], position_ids=positions[None])
        return embedded[0]


def batch_by_length(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group inputs of similar length into batches, because padding costs as much as text.

    A batch has at most `budget` padded tokens; a longer input is a batch of its own. Returns the
    positions of the inputs in each batch.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        # Inputs are sorted, so this one is the longest so far.
        if not batches or lengths[i] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def _layers(model: BertModel, products: type[LinearGroup]) -> list[EncoderLayer]:
    layers: list[Any] = list(model.encoder.layer)
    return [
        EncoderLayer(
            query_key_value=products(
                layer.attention.self.query, layer.attention.self.key, layer.attention.self.value
            ),
            attention_output=products(layer.attention.output.dense),
            attention_norm=layer.attention.output.LayerNorm,
            intermediate=products(layer.intermediate.dense),
            activation=layer.intermediate.intermediate_act_fn,
            output=products(layer.output.dense),
            output_norm=layer.output.LayerNorm,
            num_heads=model.config.num_attention_heads,
        )
        for layer in layers
    ]
