"""Rerank sentences by a cross-encoder with a token-level head."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint
from admiral.models.heads import RerankHead
from admiral.records import Document, Sentence
from admiral.reranking.encoder_inputs import (
    RerankerInput,
    batch_by_length,
    reranker_claim_limit,
    reranker_inputs,
)
from admiral.reranking.sentence_scores import best_first
from admiral.stage_timing import timed

_MAX_LENGTH = 256


class CrossEncoderReranker:
    """Score all sentences of a document in one encoder pass over claim and document.

    A sentence's score is the mean logit of its tokens.

    Parameters
    ----------
    checkpoint
        A checkpoint with a rerank head.
    batch_tokens
        Maximum number of padded tokens in an encoder batch.

    Raises
    ------
    AdmiralError
        If the checkpoint has no rerank head.
    """

    def __init__(self, checkpoint: Checkpoint, *, batch_tokens: int = 8192) -> None:
        if checkpoint.head is None:
            raise AdmiralError(
                f"{checkpoint.path}: the checkpoint has no rerank_head.safetensors; "
                "choose --reranker similarity, or train one with training.joint"
            )
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._head: RerankHead = checkpoint.head
        self._max_length = min(_MAX_LENGTH, checkpoint.model.max_source)
        self._batch_tokens = batch_tokens
        self.claim_limits = {
            "the cross-encoder": reranker_claim_limit(self._tokens, self._max_length)
        }

    @timed("cross_encoder")
    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with logits as scores, best first."""
        inputs: list[tuple[int, Document, RerankerInput]] = []
        for number, claim in enumerate(claims):
            chosen = [(s.title, s.text) for s in evidence[number]]
            for document in documents[number]:
                inputs += [
                    (number, document, encoder_input)
                    for encoder_input in reranker_inputs(
                        self._tokens,
                        claim,
                        chosen,
                        document.title,
                        document.sentences,
                        self._max_length,
                    )
                ]
        results: list[list[Sentence]] = [[] for _ in claims]
        for batch in batch_by_length([len(item.ids) for *_, item in inputs], self._batch_tokens):
            logits = self._logits([inputs[i][2].ids for i in batch])
            for row, i in enumerate(batch):
                number, document, encoder_input = inputs[i]
                for index, start, end in encoder_input.spans:
                    score = float(logits[row, start:end].mean())
                    text = document.sentences[index]
                    results[number].append(Sentence(document.title, index, text, score))
        return [best_first(sentences) for sentences in results]

    @torch.inference_mode()
    def _logits(self, inputs: Sequence[Sequence[int]]) -> torch.Tensor:
        hidden, _ = self._model.run_encoder(inputs)
        logits: torch.Tensor = self._head(hidden.float()).cpu()
        return logits
