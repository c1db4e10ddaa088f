"""Read a slow stream ahead in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from queue import Queue
from typing import Generic, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class ReadyStream(Protocol):
    """A stream that knows whether its next item is available without waiting."""

    def ready(self) -> bool:
        """Return whether the next item, the end or an error is available without waiting."""
        ...


class Prefetch(Iterator[T], Generic[T]):
    """Iterate over a stream that a thread reads ahead.

    Unlike other iterators it knows whether the next item is available without waiting. The thread
    starts at once and ends with the stream, or with the process.

    Parameters
    ----------
    stream
        The stream. An error that it raises is raised after the items before it.
    max_items
        Number of items that may be read ahead.
    """

    def __init__(self, stream: Iterable[T], max_items: int = 1024) -> None:
        self._queue: Queue[tuple[T] | BaseException] = Queue(max_items)
        threading.Thread(
            target=self._read, args=(stream,), name="admiral-prefetch", daemon=True
        ).start()

    def ready(self) -> bool:
        """Return whether the next item, the end or an error is available without waiting."""
        return not self._queue.empty()

    def __next__(self) -> T:
        item = self._queue.get()
        if isinstance(item, BaseException):
            self._queue.put(item)  # the next call raises it again
            raise item
        return item[0]

    def _read(self, stream: Iterable[T]) -> None:
        try:
            for item in stream:
                self._queue.put((item,))
        except BaseException as error:  # also SystemExit: otherwise the reader would wait forever
            self._queue.put(error)
        else:
            self._queue.put(StopIteration())
