"""The verifier as a module with a loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from proofs.verifier.classifier_files import ClassifierFiles
from proofs.verifier.label_names import LABELS
from proofs.verifier.pair_input import classifier_inputs
from training.data.verification_pairs import PAIR_LABELS
from training.pair_classifier.pair_batches import PairBatch

_NOT_ENTAILED = [at for at, name in enumerate(LABELS) if name != "entailment"]


class PairModel(nn.Module):
    """A pair classifier with its relevance head.

    Parameters
    ----------
    files
        The loaded classifier; its weights are trained in place.
    relevance_weight
        Weight of the loss of the relevance head.
    label_smoothing
        Label smoothing of the three labels.
    dropout
        Probability of all dropout layers.
    """

    def __init__(
        self,
        files: ClassifierFiles,
        *,
        relevance_weight: float,
        label_smoothing: float,
        dropout: float,
    ) -> None:
        super().__init__()
        assert files.relevance is not None
        self.classifier, self.relevance = files.model, files.relevance
        self._columns, self._has_segments = list(files.columns), files.has_segments
        self._relevance_weight, self._smoothing = relevance_weight, label_smoothing
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout

    def encoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the encoder, without those of the two heads."""
        base = getattr(self.classifier, self.classifier.base_model_prefix)
        return list(base.parameters())

    def scores(self, batch: PairBatch, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities of `LABELS`, (pairs, 3), and relevance logits, (pairs,)."""
        output = self.classifier(
            **classifier_inputs(batch.ids, batch.mask, batch.segments, self._has_segments, device),
            output_hidden_states=True,
        )
        logits = output.logits[:, self._columns].float()
        first = output.hidden_states[-1][:, 0]
        return logits.log_softmax(-1), self.relevance(first).squeeze(-1).float()

    def forward(self, batch: PairBatch, device: torch.device) -> Tensor:
        """Return the mean loss of a batch."""
        log_probabilities, relevance = self.scores(batch, device)
        labels, relevant = batch.labels.to(device), batch.relevant.to(device)
        per_pair = label_losses(log_probabilities, labels, self._smoothing)
        known = relevant >= 0
        own = F.binary_cross_entropy_with_logits(
            relevance, relevant.clamp(min=0).float(), weight=known.float(), reduction="sum"
        )
        loss: Tensor = per_pair.mean() + self._relevance_weight * own / len(labels)
        return loss


def label_losses(log_probabilities: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the negative log-probability of each pair's label, (pairs,).

    The probability of ``not_entailment`` is the sum of those of neutral and contradiction.

    Parameters
    ----------
    log_probabilities
        Of `LABELS`, (pairs, 3).
    labels
        Positions in `PAIR_LABELS`, (pairs,).
    smoothing
        Share of the target that is spread over all labels.
    """
    rest = log_probabilities[:, _NOT_ENTAILED].logsumexp(-1, keepdim=True)
    options = torch.cat([log_probabilities, rest], dim=1)
    assert options.shape[1] == len(PAIR_LABELS)
    chosen = -options.gather(1, labels[:, None]).squeeze(1)
    return (1 - smoothing) * chosen - smoothing * log_probabilities.mean(1)
