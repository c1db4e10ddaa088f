"""Measure a verifier in training on its development pairs, by source."""

from __future__ import annotations

import numpy as np
import torch
from accelerate import Accelerator

from proofs.verifier.pair_input import PairEncoder, length_batches
from training.pair_classifier.pair_batches import PairSet, collate_pairs
from training.pair_classifier.pair_measures import METRICS, measure, roc_area
from training.pair_classifier.pair_model import PairModel, label_losses


class PairEvaluator:
    """Measures a model on development pairs, which the processes of a run share.

    Parameters
    ----------
    dev
        The pairs.
    encoder
        Their encoder.
    max_tokens
        Maximum number of padded tokens of a batch.
    accelerator
        The accelerator of the run.
    """

    def __init__(
        self, dev: PairSet, encoder: PairEncoder, max_tokens: int, accelerator: Accelerator
    ) -> None:
        self._dev, self._encoder, self._accelerator = dev, encoder, accelerator
        self._batches = length_batches([len(item.ids) for item in dev.items], max_tokens)
        self.sources = sorted({pair.source for pair in dev.pairs})

    def metrics(self, model: PairModel) -> dict[str, float]:
        """Return all metrics of the current weights.

        ``loss`` is the mean loss of the labels and ``score`` the mean of the macro-F1 of the
        sources. The others are ``SOURCE/METRIC``, those over all pairs with the source ``all``.
        """
        table = self._table(model)
        log_probabilities, relevance = table[:, :3], table[:, 3]
        probabilities = np.exp(log_probabilities)
        labels = torch.tensor([item.label for item in self._dev.items])
        losses = label_losses(torch.from_numpy(log_probabilities), labels)
        by_source = {name: self._measured(name, probabilities) for name in self.sources}
        values = {
            "score": float(np.mean([each["macro_f1"] for each in by_source.values()])),
            "loss": float(losses.mean()),
        }
        for name in METRICS:
            of_sources = [each[name] for each in by_source.values() if name in each]
            if of_sources:
                values[f"mean_{name}"] = float(np.mean(of_sources))
        relevant = np.array([item.relevant for item in self._dev.items])
        area = roc_area(relevance[relevant >= 0], relevant[relevant >= 0] == 1)
        if area is not None:
            values["relevance_auc"] = area
        for name, each in by_source.items():
            values |= {f"{name}/{metric}": value for metric, value in each.items()}
        return values

    def _measured(self, source: str, probabilities: np.ndarray) -> dict[str, float]:
        at = [n for n, pair in enumerate(self._dev.pairs) if pair.source == source]
        return measure([self._dev.pairs[n].label for n in at], probabilities[at])

    @torch.no_grad()
    def _table(self, model: PairModel) -> np.ndarray:
        """Return log-probabilities of the labels and the relevance logit of each pair."""
        accelerator = self._accelerator
        table = torch.zeros(len(self._dev.items), 4, device=accelerator.device)
        model.eval()
        with accelerator.autocast():
            for positions in self._batches[accelerator.process_index :: accelerator.num_processes]:
                batch = collate_pairs([self._dev.items[at] for at in positions], self._encoder)
                log_probabilities, relevance = model.scores(batch, accelerator.device)
                table[positions] = torch.cat([log_probabilities, relevance[:, None]], dim=1)
        model.train()
        summed: np.ndarray = accelerator.reduce(table, "sum").double().cpu().numpy()
        return summed
