"""Losses by the kind of batch: summed up between reports, and measured on development samples."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from training.data.batches import Batch, Counts, Items, SequenceBatch, collate, moved
from training.loop.dev_evaluation import Sums
from training.loop.multitask_model import Trainee

KINDS = ("pairs", "groups")  # what is generated, and what is reranked


class Meter:
    """Sums of losses, kept on the device: reading a number there would make the host wait.

    Attributes
    ----------
    sums
        Sum and count of each kind, (kinds, 2).
    """

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(len(KINDS), 2, device=device)

    def add(self, batch: Batch, loss: torch.Tensor) -> None:
        """Count the loss of a batch."""
        row = self.sums[_kind(batch)]
        row[0] += loss.detach()
        row[1] += 1

    def restore(self, sums: dict[str, list[float]]) -> None:
        """Go on from the sums of an earlier part of the run, see `as_sums`."""
        for row, kind in zip(self.sums, KINDS, strict=True):
            if kind in sums:
                row.copy_(torch.tensor(sums[kind]))


def as_sums(tensor: torch.Tensor) -> dict[str, list[float]]:
    """Return sum and count by the kind's name."""
    return dict(zip(KINDS, tensor.tolist(), strict=True))


@torch.no_grad()
def development_losses(
    trainee: Trainee, batches: Sequence[Items], pad: int, start: int, device: torch.device
) -> Sums:
    """Return the losses of development batches, summed up by kind and in all."""
    sums = torch.zeros(len(KINDS), 2, device=device)
    for items in batches:
        batch = moved(collate(items, pad, start), device)
        row = sums[_kind(batch)]
        row[0] += trainee(batch, Counts.of(items)) * len(items)
        row[1] += len(items)
    found = {f"loss_{kind}": (total, count) for kind, (total, count) in as_sums(sums).items()}
    total, count = sums.sum(0).tolist()
    return {"loss": (total, count)} | found


def _kind(batch: Batch) -> int:
    return 0 if isinstance(batch, SequenceBatch) else 1
