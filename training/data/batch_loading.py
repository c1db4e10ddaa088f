"""The stream of batches: its order, each process's share of it, and padding ahead of time."""

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

from training.data.batches import Batch, Items, bucket, collate, pinned
from training.data.sample_encoding import Group, Pair

_AHEAD = 8  # batches that wait for the model


@dataclass(frozen=True, slots=True)
class Micro:
    """A batch at its position in the stream that all processes share."""

    position: int
    items: Items
    batch: Batch


def batches_of(
    items: Sequence[Pair | Group], pair_budget: int, group_budget: int, seed: int
) -> Iterator[Items]:
    """Yield batches without end, epoch after epoch, in an order that only the seed decides."""
    epoch = seed
    while True:
        yield from one_epoch(items, pair_budget, group_budget, epoch)
        epoch += 1


def one_epoch(
    items: Sequence[Pair | Group], pair_budget: int, group_budget: int, seed: int
) -> list[Items]:
    """Return batches that hold each item once, pairs and groups apart, shuffled together."""
    pairs = [item for item in items if isinstance(item, Pair)]
    groups = [item for item in items if isinstance(item, Group)]
    together = bucket(pairs, pair_budget, seed) + bucket(groups, group_budget, seed)
    random.Random(seed).shuffle(together)
    return together


class Loader:
    """Yields the batches of one process, padded by a thread while the model computes.

    It is a context manager, whose end stops the thread.

    Parameters
    ----------
    stream
        All batches, the same in every process (`batches_of`).
    pad, start
        The padding token, and the one that the decoder begins with.
    position
        Batches of the stream that are behind us.
    share
        This process's number and how many there are: they take the batches by turns.
    device
        Where the model is: for a GPU, batches are put into page-locked memory.
    """

    def __init__(
        self,
        stream: Iterator[Items],
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
        self._ready: queue.Queue[Micro | BaseException] = queue.Queue(_AHEAD)
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

    def take(self, count: int) -> list[Micro]:
        """Return the next batches; raises what went wrong while they were made."""
        found = []
        for _ in range(count):
            one = self._ready.get()
            if isinstance(one, BaseException):
                raise one
            found.append(one)
        return found

    def _fill(self) -> None:
        number, processes = self._share
        try:
            if self._gpu is not None:
                torch.cuda.set_device(self._gpu)  # a new thread is on the first one
            numbered = enumerate(self._stream)
            for position, items in islice(numbered, self._position + number, None, processes):
                batch = collate(items, self._pad, self._start)
                self._put(Micro(position, items, pinned(batch) if self._gpu else batch))
                if self._ended.is_set():
                    return
        except BaseException as error:  # raised again where the batches are taken
            self._put(error)

    def _put(self, one: Micro | BaseException) -> None:
        while not self._ended.is_set():
            with suppress(queue.Full):
                self._ready.put(one, timeout=0.1)
                return
