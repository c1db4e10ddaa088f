"""Split batches automatically when the device runs out of memory."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

import torch

from admiral.errors import AdmiralError
from admiral.scheduling.memory import free_cached_memory, is_out_of_memory
from training.data.batch_loading import MicroBatch
from training.data.batches import Batch, Counts, Examples, collate, cost, split_to_cost

logger = logging.getLogger(__name__)

# Runs the forward and backward pass of a batch or a part of one, and returns its loss.
Pass = Callable[[Batch, Counts], torch.Tensor]


class BatchSplitter:
    """Compute the gradients of batches, in parts where memory runs out.

    The gradients of the parts add up to those of the whole batch, so training continues as it would
    have with more memory.

    Parameters
    ----------
    pad, start
        See `training.data.batches.collate`.
    seed
        With the position of a batch, it seeds all randomness of its passes, whichever process
        runs them and however often.
    """

    def __init__(self, pad: int, start: int, seed: int) -> None:
        self._pad, self._start, self._seed = pad, start, seed
        self.ceiling = math.inf

    def run(
        self, micro_batches: Sequence[MicroBatch], run_pass: Pass, reset: Callable[[], None]
    ) -> list[torch.Tensor]:
        """Run the forward and backward passes of a step and return the losses.

        Parameters
        ----------
        micro_batches
            The batches of the step.
        run_pass
            Runs the forward and backward pass of a batch.
        reset
            Resets the gradients; called before a step is repeated.

        Raises
        ------
        AdmiralError
            If memory is too small for a single sample.
        """
        while True:
            failed: Examples | None = None
            losses = []
            for micro_batch in micro_batches:
                loss, failed = self._run_batch(micro_batch, run_pass)
                if failed is not None:
                    break
                losses.append(loss)
            if failed is None:
                return losses
            # Outside of the `except` block nothing refers to the failed pass: its memory is free.
            reset()
            free_cached_memory()
            self._lower(failed)

    def _run_batch(
        self, micro_batch: MicroBatch, run_pass: Pass
    ) -> tuple[torch.Tensor, Examples | None]:
        """Return the loss of a batch, and the part that ran out of memory or None."""
        parts = split_to_cost(micro_batch.items, self.ceiling)
        counts = Counts.of(micro_batch.items)
        total = torch.zeros(())
        seed_passes(self._seed, micro_batch.position)
        for items in parts:
            batch = micro_batch.batch if len(parts) == 1 else collate(items, self._pad, self._start)
            try:
                loss = run_pass(batch, counts)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                return total, items
            total = loss if len(parts) == 1 else total.to(loss.device) + loss
        return total, None

    def _lower(self, failed: Examples) -> None:
        if len(failed) == 1:
            raise AdmiralError(
                "memory ran out with a single sample in the batch. Lower max_source and "
                "max_target, or choose a smaller model or a larger device."
            )
        self.ceiling = cost(failed) / 2
        logger.warning(
            "memory ran out; batches that cost more than %d are split from now on", self.ceiling
        )


def seed_passes(seed: int, position: int) -> None:
    """Seed all randomness of the passes of a batch, such as dropout, by its position."""
    torch.manual_seed(seed * 1_000_003 + position)
