"""A stream that comes in at its own pace, read by a thread so that one can see what is there."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from queue import Queue
from typing import Generic, TypeVar

T = TypeVar("T")


class Arriving(Iterator[T], Generic[T]):
    """Iterates over a stream that a thread reads ahead, from now on.

    The thread ends with the stream; one that never ends it leaves to the end of the process.

    Parameters
    ----------
    stream
        What comes in; an error that it raises is raised behind what came before.
    most
        Items that may wait to be taken; meanwhile nothing further is read.
    """

    def __init__(self, stream: Iterable[T], most: int = 1024) -> None:
        self._there: Queue[tuple[T] | BaseException] = Queue(most)
        threading.Thread(
            target=self._read, args=(stream,), name="admiral-arriving", daemon=True
        ).start()

    def ready(self) -> bool:
        """Return whether the next item, the end or an error is there."""
        return not self._there.empty()

    def __next__(self) -> T:
        item = self._there.get()
        if isinstance(item, BaseException):
            self._there.put(item)  # whoever asks again is told again
            raise item
        return item[0]

    def _read(self, stream: Iterable[T]) -> None:
        try:
            for item in stream:
                self._there.put((item,))
        except BaseException as error:  # SystemExit, too: nobody else would tell who waits
            self._there.put(error)
        else:
            self._there.put(StopIteration())
