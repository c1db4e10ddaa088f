"""Losses of the multi-task model by kind of batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from training.data.batches import Batch, Counts, Examples, SequenceBatch, collate, moved
from training.loop.dev_evaluation import MetricSums
from training.loop.loss_meter import LossMeter
from training.loop.multitask_model import MultiTaskModel

KINDS = ("generation", "reranking")


def kind_of(batch: Batch) -> str:
    """Return the name of the loss of a batch, one of `KINDS`."""
    return "generation" if isinstance(batch, SequenceBatch) else "reranking"


@torch.no_grad()
def development_losses(
    multitask: MultiTaskModel,
    batches: Sequence[Examples],
    pad: int,
    start: int,
    device: torch.device,
) -> MetricSums:
    """Return sums and counts of development losses, by kind and in total."""
    meter = LossMeter(KINDS, device)
    for items in batches:
        batch = moved(collate(items, pad, start), device)
        meter.add(kind_of(batch), multitask(batch, Counts.of(items)), len(items))
    sums = meter.sums()
    by_kind = {f"loss_{kind}": (total, count) for kind, (total, count) in sums.items()}
    total, count = map(sum, zip(*sums.values(), strict=True))
    return {"loss": (total, count)} | by_kind
