"""The batches of a process: collated ahead by a thread, and split where memory runs out."""

from __future__ import annotations

import logging
import math
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

from admiral.errors import AdmiralError
from admiral.scheduling import free_cached_memory, is_out_of_memory

if TYPE_CHECKING:
    from training.loop.training_loop import Program

logger = logging.getLogger(__name__)
_QUEUE_SIZE = 8  # batches collated ahead


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The items of a batch, their padded tensors, and its place in the stream of all processes."""

    position: int
    items: Sequence[Any]
    batch: Any


class Loader:
    """Load the batches of one process; a context manager that runs the collating thread.

    `stream`: items of all batches, the same in each process. `share`: number of this process and
    number of processes, which share the batches.
    """

    def __init__(
        self,
        stream: Iterator[Sequence[Any]],
        collate: Callable[[Sequence[Any]], Any],
        *,
        position: int = 0,
        share: tuple[int, int] = (0, 1),
        device: torch.device | None = None,
    ) -> None:
        self._batches = islice(enumerate(stream), position + share[0], None, share[1])
        self._collate = collate
        self._gpu = device if device is not None and device.type == "cuda" else None
        self._ready: queue.Queue[MicroBatch | BaseException] = queue.Queue(_QUEUE_SIZE)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="batches", daemon=True)

    def __enter__(self) -> Loader:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def take(self, count: int) -> list[MicroBatch]:
        """Return the next batches, or raise the exception of the collating thread."""
        batches = []
        for _ in range(count):
            result = self._ready.get()
            if isinstance(result, BaseException):
                raise result
            batches.append(result)
        return batches

    def _fill(self) -> None:
        try:
            if self._gpu is not None and self._gpu.index is not None:
                torch.cuda.set_device(self._gpu)  # a new thread uses the first GPU
            for position, items in self._batches:
                batch = self._collate(items)
                if self._gpu is not None:
                    batch = _mapped(batch, torch.Tensor.pin_memory)
                self._put(MicroBatch(position, items, batch))
                if self._ended.is_set():
                    return
        except BaseException as error:  # raised again by `take`
            self._put(error)

    def _put(self, result: MicroBatch | BaseException) -> None:
        while not self._ended.is_set():
            with suppress(queue.Full):
                self._ready.put(result, timeout=0.1)
                return


def moved(batch: Any, device: torch.device) -> Any:
    """Copy a dataclass of tensors to a device, asynchronously from pinned memory."""
    return _mapped(batch, lambda tensor: tensor.to(device, non_blocking=True))


def _mapped(batch: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return type(batch)(**{f.name: change(getattr(batch, f.name)) for f in fields(batch)})


class BatchSplitter:
    """Compute the gradients of batches, in parts where memory runs out.

    The gradients of the parts add up to those of the whole batch, so training continues as it would
    have with more memory.

    `seed`: with the position of a batch, it seeds all randomness of its passes, whichever process
    runs them and however often.
    """

    def __init__(self, program: Program, seed: int) -> None:
        self._program, self._seed = program, seed
        self._ceiling = math.inf

    def run(
        self,
        batches: Sequence[MicroBatch],
        run_pass: Callable[[Any, Any], torch.Tensor],
        reset: Callable[[], None],
    ) -> list[torch.Tensor]:
        """Run the forward and backward passes of a step and return the loss of each batch.

        `run_pass`: runs both passes of a batch or a part of one, given the counts of the whole.
        `reset`: resets the gradients; called before a step is repeated.

        Raises `AdmiralError` if memory is too small for a single sample.
        """
        while True:
            losses: list[torch.Tensor] = []
            failed: Sequence[Any] | None = None
            for batch in batches:
                loss, failed = self._run_batch(batch, run_pass)
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
        self, batch: MicroBatch, run_pass: Callable[[Any, Any], torch.Tensor]
    ) -> tuple[torch.Tensor, Sequence[Any] | None]:
        """Return the loss of a batch, and the part that ran out of memory or None."""
        parts = split_to_cost(batch.items, self._ceiling, self._program.cost)
        counts = self._program.counts(batch.items)
        total = torch.zeros(())
        torch.manual_seed(self._seed * 1_000_003 + batch.position)
        for items in parts:
            whole = len(parts) == 1
            try:
                loss = run_pass(batch.batch if whole else self._program.collate(items), counts)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                return total, items
            total = loss if whole else total.to(loss.device) + loss
        return total, None

    def _lower(self, failed: Sequence[Any]) -> None:
        if len(failed) == 1:
            raise AdmiralError(
                "memory ran out with a single sample in the batch. Lower "
                f"{self._program.lengths}, or choose a smaller model or a larger device."
            )
        self._ceiling = self._program.cost(failed) / 2
        logger.warning(
            "memory ran out; batches that cost more than %d are split from now on", self._ceiling
        )


def split_to_cost(
    items: Sequence[Any], ceiling: float, cost: Callable[[Sequence[Any]], int]
) -> list[Sequence[Any]]:
    """Halve a batch until each part costs at most `ceiling` or holds a single item."""
    if len(items) == 1 or cost(items) <= ceiling:
        return [items]
    middle = len(items) // 2
    return split_to_cost(items[:middle], ceiling, cost) + split_to_cost(
        items[middle:], ceiling, cost
    )
