"""The seq2seq model and the reranking head as one module, with a loss for each kind of batch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from transformers import BartForConditionalGeneration

from admiral.models.heads import RerankHead
from training.data.batches import Batch, Counts, RerankBatch, SequenceBatch
from training.loop.guided_attention import GuidedAttention

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
        model: BartForConditionalGeneration,
        head: RerankHead | None = None,
        attention_loss_weight: float = 0.0,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self._attention_loss_weight, self._label_smoothing = attention_loss_weight, label_smoothing

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
        hidden = self.model.model.encoder(
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
        hidden = self.model.model.encoder(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        with GuidedAttention(self.model) as guided_attention:
            states = packed_decoder(self.model, hidden, batch)
        real = batch.segments >= 0
        logits = self.model.lm_head(states[real]) + self.model.final_logits_bias
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


def packed_decoder(
    model: BartForConditionalGeneration, hidden: torch.Tensor, batch: SequenceBatch
) -> torch.Tensor:
    """Return the decoder's states for targets that share a row, (batch, target length, width).

    Each target attends to its own earlier tokens and to the encoder's states, as it would in a row
    of its own. Packing saves work: the keys and values of the cross-attention are computed once for
    all targets of an input.

    Parameters
    ----------
    model
        A post-norm BART.
    hidden
        The encoder's states, (batch, source length, width).
    batch
        The packed targets.
    """
    decoder = model.model.decoder
    positions = decoder.embed_positions
    states: torch.Tensor = decoder.embed_tokens(batch.decoder_ids)
    states = states + F.embedding(batch.positions + positions.offset, positions.weight)
    states = decoder.layernorm_embedding(states)
    states = F.dropout(states, p=decoder.dropout, training=decoder.training)
    order = torch.arange(batch.segments.shape[1], device=states.device)
    seen = (batch.segments[:, :, None] == batch.segments[:, None]) & (order[:, None] >= order)
    own = _additive(seen[:, None], states.dtype)
    cross = _additive(batch.attention_mask[:, None, None] > 0, states.dtype)
    for layer in decoder.layers:
        states = layer(states, own, hidden, encoder_attention_mask=cross, use_cache=False)
    return states


def _additive(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask to be added to attention scores: 0, or the lowest number of its type."""
    zeros = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return zeros.masked_fill(~allowed, torch.finfo(dtype).min)


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
