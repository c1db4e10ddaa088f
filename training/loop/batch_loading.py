"""The batches of a process, collated ahead by a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import islice
from types import TracebackType
from typing import Any

import torch

_QUEUE_SIZE = 8  # batches collated ahead


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The padded tensors of a batch, and its place in the stream of all processes."""

    position: int
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
                self._put(MicroBatch(position, batch))
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
