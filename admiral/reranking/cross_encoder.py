"""Stage 2: the sentence reranker, a cross-encoder with a token-level head."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint
from admiral.models.heads import RerankHead
from admiral.records import Document, Sentence
from admiral.reranking.encoder_inputs import RerankPass, length_batches, rerank_passes, rerank_room
from admiral.reranking.sentence_scores import best_first

_MAX_LENGTH = 256


def claim_tokens(checkpoint: Checkpoint) -> int:
    """Return how many tokens of a claim the cross-encoder reads."""
    return rerank_room(checkpoint.tokens, _longest_pass(checkpoint))


def _longest_pass(checkpoint: Checkpoint) -> int:
    return min(_MAX_LENGTH, checkpoint.model.max_source)


class CrossEncoderReranker:
    """Scores all sentences of a document in one pass of the encoder over claim and document.

    Parameters
    ----------
    checkpoint
        A checkpoint with a reranker's head.
    batch_tokens
        Padded tokens per pass of the encoder.
    """

    def __init__(self, checkpoint: Checkpoint, *, batch_tokens: int = 8192) -> None:
        if checkpoint.head is None:
            raise AdmiralError(
                f"{checkpoint.path}: the checkpoint has no rerank_head.safetensors; "
                "choose --reranker similarity, or train one with training.joint"
            )
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._head: RerankHead = checkpoint.head
        self._max_length = _longest_pass(checkpoint)
        self._batch_tokens = batch_tokens

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with scores (logits), best first."""
        passes: list[tuple[int, Document, RerankPass]] = []
        for place, claim in enumerate(claims):
            chosen = [(s.title, s.text) for s in evidence[place]]
            for document in documents[place]:
                for one in rerank_passes(
                    self._tokens,
                    claim,
                    chosen,
                    document.title,
                    document.sentences,
                    self._max_length,
                ):
                    passes.append((place, document, one))
        found: list[list[Sentence]] = [[] for _ in claims]
        for batch in length_batches([len(one.ids) for *_, one in passes], self._batch_tokens):
            logits = self._logits([passes[i][2].ids for i in batch])
            for row, i in enumerate(batch):
                place, document, one = passes[i]
                for number, start, end in one.spans:
                    score = float(logits[row, start:end].mean())
                    text = document.sentences[number]
                    found[place].append(Sentence(document.title, number, text, score))
        return [best_first(sentences) for sentences in found]

    @torch.inference_mode()
    def _logits(self, inputs: Sequence[Sequence[int]]) -> torch.Tensor:
        hidden, _ = self._model.hidden(inputs)
        logits: torch.Tensor = self._head(hidden.float()).cpu()
        return logits
