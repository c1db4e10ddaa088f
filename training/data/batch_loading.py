"""Stream batches to the processes of a run, collated ahead of time by a thread."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from types import TracebackType

import torch

from training.data.batches import Batch, Examples, bucket, collate, pinned
from training.data.sample_encoding import GenerationExample, RerankingExample

_QUEUE_SIZE = 8  # batches collated ahead


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A batch and its position in the stream that all processes share."""

    position: int
    items: Examples
    batch: Batch


def batches_of(
    items: Sequence[GenerationExample | RerankingExample],
    pair_budget: int,
    group_budget: int,
    seed: int,
) -> Iterator[Examples]:
    """Yield batches forever, epoch after epoch, in an order that depends on the seed alone."""
    epoch = seed
    while True:
        yield from one_epoch(items, pair_budget, group_budget, epoch)
        epoch += 1


def one_epoch(
    items: Sequence[GenerationExample | RerankingExample],
    pair_budget: int,
    group_budget: int,
    seed: int,
) -> list[Examples]:
    """Return batches that hold each example once, in random order and each of one kind."""
    pairs = [item for item in items if isinstance(item, GenerationExample)]
    groups = [item for item in items if isinstance(item, RerankingExample)]
    batches = bucket(pairs, pair_budget, seed) + bucket(groups, group_budget, seed)
    random.Random(seed).shuffle(batches)
    return batches


class Loader:
    """Load the batches of one process; a context manager that runs the collating thread.

    Parameters
    ----------
    stream
        All batches, the same in each process (see `batches_of`).
    pad, start
        Padding token and decoder start token.
    position
        Number of batches already consumed.
    share
        Number of this process and number of processes, which share the batches.
    device
        Device of the model. For a GPU, batches are put into pinned memory.
    """

    def __init__(
        self,
        stream: Iterator[Examples],
        pad: int,
        start: int,
        *,
        position: int = 0,
        share: tuple[int, int] = (0, 1),
        device: torch.device | None = None,
    ) -> None:
        self._stream, self._pad, self._start = stream, pad, start
        self._position, self._share = position, share
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
        number, processes = self._share
        try:
            if self._gpu is not None:
                torch.cuda.set_device(self._gpu)  # a new thread uses the first GPU
            stream = enumerate(self._stream)
            for position, items in islice(stream, self._position + number, None, processes):
                batch = collate(items, self._pad, self._start)
                self._put(MicroBatch(position, items, pinned(batch) if self._gpu else batch))
                if self._ended.is_set():
                    return
        except BaseException as error:  # raised again by `take`
            self._put(error)

    def _put(self, result: MicroBatch | BaseException) -> None:
        while not self._ended.is_set():
            with suppress(queue.Full):
                self._ready.put(result, timeout=0.1)
                return
