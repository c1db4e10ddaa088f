"""Batches that shrink by themselves when the device has too little memory for them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

import torch

from admiral.errors import AdmiralError
from admiral.scheduling.memory import ran_out, release
from training.data.batch_loading import Micro
from training.data.batches import Batch, Counts, Items, collate, cost, halved

logger = logging.getLogger(__name__)

# Runs the forward and backward pass of a batch, or part of one, and returns its loss.
Pass = Callable[[Batch, Counts], torch.Tensor]


class MemoryGuard:
    """Computes the gradients of batches whole, or in parts where memory runs out.

    The parts are those of the same batches in the same order, and their gradients add up to the
    whole's: training goes on as it would have with more memory.

    Parameters
    ----------
    pad, start
        See `training.data.batches.collate`.
    seed
        With a batch's position it decides all that is random in its passes, whichever process
        makes them and however often.
    """

    def __init__(self, pad: int, start: int, seed: int) -> None:
        self._pad, self._start, self._seed = pad, start, seed
        self.ceiling = math.inf

    def run(
        self, micros: Sequence[Micro], one: Pass, reset: Callable[[], None]
    ) -> list[torch.Tensor]:
        """Run all batches of a step and return their losses.

        Parameters
        ----------
        micros
            The batches.
        one
            What runs one of them.
        reset
            Discards gradients; called before a step is repeated.

        Raises
        ------
        AdmiralError
            If memory is too small for a single sample.
        """
        while True:
            failed: Items | None = None
            losses = []
            for micro in micros:
                loss, failed = self._whole(micro, one)
                if failed is not None:
                    break
                losses.append(loss)
            if failed is None:
                return losses
            # Out here nothing refers to the failed pass any more, so that its memory is free.
            reset()
            release()
            self._lower(failed)

    def _whole(self, micro: Micro, one: Pass) -> tuple[torch.Tensor, Items | None]:
        """Return the loss of a batch, and the part of it that memory was too small for."""
        parts = halved(micro.items, self.ceiling)
        counts = Counts.of(micro.items)
        total = torch.zeros(())
        torch.manual_seed(self._seed * 1_000_003 + micro.position)
        for items in parts:
            batch = micro.batch if len(parts) == 1 else collate(items, self._pad, self._start)
            try:
                loss = one(batch, counts)
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
                return total, items
            total = loss if len(parts) == 1 else total.to(loss.device) + loss
        return total, None

    def _lower(self, failed: Items) -> None:
        if len(failed) == 1:
            raise AdmiralError(
                "memory ran out with a single sample in the batch. Lower max_source and "
                "max_target, or choose a smaller model or a larger device."
            )
        self.ceiling = cost(failed) / 2
        logger.warning(
            "memory ran out; from now on batches that cost more than %d are halved", self.ceiling
        )
