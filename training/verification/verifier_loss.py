"""The loss of the verifier: labels of the whole, of sentences and of the tokens of claims."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from proofs.verifier.evidence_model import EvidenceModel
from proofs.verifier.label_names import LABELS
from training.verification.example_batches import Counts, ExampleBatch

#: Weights of the losses of sentences and of tokens, beside 1 for the whole.
SENTENCE_WEIGHT, TOKEN_WEIGHT = 0.5, 0.3
_POOL = 1 << 22  # random numbers that dropout draws from


class VerifierLoss(nn.Module):
    """A verifier with its loss.

    Parameters
    ----------
    model
        The verifier; its weights are trained in place.
    dropout
        Probability of the dropout of hidden states. Attention weights have none.
    """

    def __init__(self, model: EvidenceModel, dropout: float, seed: int = 0) -> None:
        super().__init__()
        self.model = model
        pool = DropoutPool(dropout, seed)
        for name, module in list(model.named_modules()):
            for child, layer in list(module.named_children()):
                if name.endswith("attention.self") and isinstance(layer, nn.Dropout):
                    layer.p = 0.0
                elif isinstance(layer, nn.Dropout):
                    setattr(module, child, PooledDropout(pool))

    def forward(self, batch: ExampleBatch, counts: Counts) -> Tensor:
        """Return the mean loss of a batch, or the share of a part of one in it.

        Parameters
        ----------
        counts
            Counts of the whole batch, so that the losses of its parts add up to its loss.
        """
        whole, sentences, tokens = self.scores(batch)
        loss = marginal_losses(whole, batch.labels).sum() / counts.examples
        for logits, labels, weight, known in (
            (sentences, batch.sentences, SENTENCE_WEIGHT, counts.sentences),
            (tokens, batch.token_labels, TOKEN_WEIGHT, counts.tokens),
        ):
            loss = loss + weight * marginal_losses(logits, labels).sum() / max(known, 1)
        return loss

    def scores(self, batch: ExampleBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the whole, of sentences and of tokens, (examples, ..., 3)."""
        whole, sentences, tokens = self.model(batch.ids, batch.mask, batch.segments)
        return (
            whole.float(),
            _at(sentences, batch.markers).float(),
            _at(tokens, batch.tokens).float(),
        )


def _at(values: Tensor, positions: Tensor) -> Tensor:
    """Return the rows of `values`, (examples, length, 3), at positions, (examples, n)."""
    return values.gather(1, positions[:, :, None].expand(-1, -1, values.shape[2]))


def marginal_losses(logits: Tensor, possible: Tensor) -> Tensor:
    """Return the negative log-probability that one of the possible labels holds.

    Parameters
    ----------
    logits
        (..., 3), in the order of `LABELS`.
    possible
        Possible labels as bits (see `training.verification.example_batches.POSSIBLE`), (...).
    """
    bits = torch.arange(len(LABELS), device=possible.device)
    excluded = (possible[..., None] >> bits) & 1 == 0
    log_probabilities = logits.log_softmax(-1)
    return -log_probabilities.masked_fill(excluded, -torch.inf).logsumexp(-1)


class DropoutPool:
    """Random masks from which dropout takes a random part.

    On a processor, drawing a new mask costs as much as the layer it belongs to.
    """

    def __init__(self, probability: float, seed: int) -> None:
        self.probability = probability
        generator = torch.Generator().manual_seed(seed)
        kept = torch.rand(_POOL, generator=generator) >= probability
        self._values = kept / (1 - probability)
        self._as: dict[tuple[torch.dtype, torch.device], Tensor] = {}

    def mask(self, values: Tensor) -> Tensor:
        """Return a mask of the shape of `values`."""
        key = values.dtype, values.device
        if key not in self._as:
            self._as[key] = self._values.to(values)
        pool, count = self._as[key], values.numel()
        if count > len(pool) // 2:
            pool = self._as[key] = pool.repeat(2 * count // len(pool) + 1)
        # From torch's generator, which is set before each batch: a resumed run draws the same.
        begin = int(torch.randint(len(pool) - count, ()))
        return pool[begin : begin + count].view(values.shape)


class PooledDropout(nn.Module):
    """Dropout with masks from a pool."""

    def __init__(self, pool: DropoutPool) -> None:
        super().__init__()
        self._pool = pool

    def forward(self, values: Tensor) -> Tensor:
        """Return the values, some of them set to zero in training."""
        if not self.training or not self._pool.probability:
            return values
        return values * self._pool.mask(values)
