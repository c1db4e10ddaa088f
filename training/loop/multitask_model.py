"""The seq2seq model and the reranking head as one module, with a loss for each kind of batch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from admiral.models.heads import RerankHead
from training.data.batches import Batch, Counts, RerankBatch, SequenceBatch
from training.loop.guided_attention import GuidedAttention
from training.loop.packed_decoding import packed_decoder, vocabulary_logits

_GOLD_WEIGHT = 3.0  # of gold sentences in the logistic loss, because they are rare


class MultiTaskModel(nn.Module):
    """A seq2seq model and a reranking head that share an encoder.

    Parameters
    ----------
    model, head
        The head is needed for reranking batches only.
    attention_loss_weight
        Weight of the loss on the cross-attention (see `training.loop.guided_attention`).
    label_smoothing
        Label smoothing of the target tokens.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        head: RerankHead | None = None,
        attention_loss_weight: float = 0.0,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self._attention_loss_weight, self._label_smoothing = attention_loss_weight, label_smoothing

    def encoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the encoder and of the reranking head."""
        parameters = list(self.model.get_encoder().parameters())
        if self.head is not None:
            parameters += self.head.parameters()
        return parameters

    def forward(self, batch: Batch, counts: Counts) -> torch.Tensor:
        """Return the loss of a batch, or of a part of one.

        Parameters
        ----------
        batch
            The batch, or a part of one.
        counts
            Counts of the whole batch, so that the losses of its parts add up to its loss.
        """
        if isinstance(batch, SequenceBatch):
            return self._sequence_loss(batch, counts)
        hidden = self.model.get_encoder()(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        if self.head is None:
            raise ValueError("reranking batches need a head")
        return rerank_loss(sentence_means(self.head(hidden), batch), batch, counts)

    def _sequence_loss(self, batch: SequenceBatch, counts: Counts) -> torch.Tensor:
        """Return the negative log marginal likelihood of the targets of each input.

        The likelihood of an input is the sum of the probabilities of all its targets. The loss is
        summed over inputs and divided by the number of target tokens, so that with one target per
        input it is the cross-entropy per token.
        """
        hidden = self.model.get_encoder()(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        with GuidedAttention(self.model) as guided_attention:
            states = packed_decoder(self.model, hidden, batch)
        real = batch.segments >= 0
        logits = vocabulary_logits(self.model, states[real])
        losses = F.cross_entropy(
            logits.float(),
            batch.labels[real],
            label_smoothing=self._label_smoothing,
            reduction="none",
        )
        width = int(batch.segments.max()) + 1
        rows = torch.arange(len(batch.segments), device=real.device)[:, None] * width
        sequences = losses.new_zeros(len(batch.segments) * width)
        sequences = sequences.index_add(0, (rows + batch.segments)[real], losses)
        present = batch.segments[:, :, None] == torch.arange(width, device=real.device)
        scores = (-sequences.view(-1, width)).masked_fill(~present.any(1), -torch.inf)
        loss = -scores.logsumexp(1).sum() / counts.tokens
        if self._attention_loss_weight and counts.copied:
            attention = guided_attention.loss(batch.attention_mask, batch.copies, counts.copied)
            loss = loss + self._attention_loss_weight * attention
        return loss


def sentence_means(logits: torch.Tensor, batch: RerankBatch) -> torch.Tensor:
    """Return the mean token score of each sentence, (claims, sentences).

    Parameters
    ----------
    logits
        Token scores, (passes, length).
    batch
        The spans of the sentences.
    """
    sums = F.pad(logits.float().cumsum(1), (1, 0)).flatten()
    return (sums[batch.ends] - sums[batch.begins]) / (batch.ends - batch.begins)


def rerank_loss(scores: torch.Tensor, batch: RerankBatch, counts: Counts) -> torch.Tensor:
    """Return a listwise softmax loss plus a logistic loss.

    The first contrasts each gold sentence with all other sentences of its claim. The second
    calibrates the scores, so that 0 separates gold from other sentences.
    """
    wrong = scores.masked_fill(batch.gold | ~batch.real, -torch.inf)
    against = wrong.logsumexp(1, keepdim=True)
    contrasts = (torch.logaddexp(scores, against) - scores).masked_fill(~batch.gold, 0.0)
    ordering = (contrasts.sum(1) / batch.gold.sum(1)).sum() / counts.claims
    logistic = F.binary_cross_entropy_with_logits(
        scores,
        batch.gold.to(scores.dtype),
        weight=batch.real * torch.where(batch.gold, _GOLD_WEIGHT, 1.0),
        reduction="sum",
    )
    return ordering + logistic / counts.sentences
