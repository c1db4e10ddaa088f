"""What is trained: the seq2seq model and the reranker's head, with a loss for either use."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from transformers import BartForConditionalGeneration

from admiral.heads import RerankHead
from training.batches import IGNORED, Batch, Counts, RerankBatch, SequenceBatch
from training.guide import AttentionGuide

_GOLD_WEIGHT = 3.0  # gold sentences are few


class Trainee(nn.Module):
    """The model, and the head where sentences are reranked.

    Parameters
    ----------
    model, head
        The head is needed for batches of the reranker only.
    guide
        Weight of the loss on the cross-attention (see `training.guide`).
    smoothing
        Label smoothing of the target tokens.
    """

    def __init__(
        self,
        model: BartForConditionalGeneration,
        head: RerankHead | None = None,
        guide: float = 0.0,
        smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self._guide, self._smoothing = guide, smoothing

    def forward(self, batch: Batch, counts: Counts) -> torch.Tensor:
        """Return the loss of a batch, or of a part of one.

        Parameters
        ----------
        batch
            The batch or part.
        counts
            Those of the whole batch: the losses of its parts add up to the whole's.
        """
        if isinstance(batch, SequenceBatch):
            return self._sequence_loss(batch, counts)
        hidden = self.model.model.encoder(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        if self.head is None:
            raise ValueError("batches of the reranker need a head")
        return rerank_loss(sentence_means(self.head(hidden), batch), batch, counts)

    def _sequence_loss(self, batch: SequenceBatch, counts: Counts) -> torch.Tensor:
        with AttentionGuide(self.model) as guide:
            logits = self.model(
                input_ids=batch.input_ids,
                attention_mask=batch.attention_mask,
                decoder_input_ids=batch.decoder_ids,
                use_cache=False,
            ).logits
        loss = F.cross_entropy(
            logits.flatten(0, 1).float(),
            batch.labels.flatten(),
            ignore_index=IGNORED,
            label_smoothing=self._smoothing,
            reduction="sum",
        )
        loss = loss / counts.tokens
        if self._guide and counts.copied:
            attention = guide.loss(batch.attention_mask, batch.copies, counts.copied)
            loss = loss + self._guide * attention
        return loss


def sentence_means(logits: torch.Tensor, batch: RerankBatch) -> torch.Tensor:
    """Return the mean of the token scores of each sentence, (claims, sentences).

    `logits` has the shape (passes, length).
    """
    sums = F.pad(logits.float().cumsum(1), (1, 0)).flatten()
    return (sums[batch.ends] - sums[batch.begins]) / (batch.ends - batch.begins)


def rerank_loss(scores: torch.Tensor, batch: RerankBatch, counts: Counts) -> torch.Tensor:
    """Each gold sentence against all the others of its claim, and a logistic term.

    The first orders the sentences of different documents, the second gives the scores a zero.
    """
    wrong = scores.masked_fill(batch.gold | ~batch.real, -torch.inf)
    against = wrong.logsumexp(1, keepdim=True)
    each = (torch.logaddexp(scores, against) - scores).masked_fill(~batch.gold, 0.0)
    ordering = (each.sum(1) / batch.gold.sum(1)).sum() / counts.claims
    logistic = F.binary_cross_entropy_with_logits(
        scores,
        batch.gold.to(scores.dtype),
        weight=batch.real * torch.where(batch.gold, _GOLD_WEIGHT, 1.0),
        reduction="sum",
    )
    return ordering + logistic / counts.sentences
