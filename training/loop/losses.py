"""Mean losses by kind of batch, during training and on development samples."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from training.data.batches import Batch, Counts, Examples, SequenceBatch, collate, moved
from training.loop.dev_evaluation import MetricSums
from training.loop.multitask_model import MultiTaskModel

KINDS = ("generation", "reranking")


class LossMeter:
    """Running sums of losses. They stay on the device, so that the host does not wait for it.

    Attributes
    ----------
    sums
        Sum and count of each kind, (kinds, 2).
    """

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(len(KINDS), 2, device=device)

    def add(self, batch: Batch, loss: torch.Tensor) -> None:
        """Add the loss of a batch."""
        row = self.sums[_kind(batch)]
        row[0] += loss.detach()
        row[1] += 1

    def restore(self, sums: dict[str, list[float]]) -> None:
        """Continue from the sums of an earlier part of the run (see `as_sums`)."""
        for row, kind in zip(self.sums, KINDS, strict=True):
            if kind in sums:
                row.copy_(torch.tensor(sums[kind]))


def as_sums(tensor: torch.Tensor) -> dict[str, list[float]]:
    """Return sum and count of each kind by name."""
    return dict(zip(KINDS, tensor.tolist(), strict=True))


@torch.no_grad()
def development_losses(
    multitask: MultiTaskModel,
    batches: Sequence[Examples],
    pad: int,
    start: int,
    device: torch.device,
) -> MetricSums:
    """Return sums and counts of development losses, by kind and in total."""
    sums = torch.zeros(len(KINDS), 2, device=device)
    for items in batches:
        batch = moved(collate(items, pad, start), device)
        row = sums[_kind(batch)]
        row[0] += multitask(batch, Counts.of(items)) * len(items)
        row[1] += len(items)
    by_kind = {f"loss_{kind}": (total, count) for kind, (total, count) in as_sums(sums).items()}
    total, count = sums.sum(0).tolist()
    return {"loss": (total, count)} | by_kind


def _kind(batch: Batch) -> int:
    return 0 if isinstance(batch, SequenceBatch) else 1
