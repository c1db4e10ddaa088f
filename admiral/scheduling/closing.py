"""Who is using what is about to be closed."""

from __future__ import annotations

import threading
from types import TracebackType

from admiral.errors import AdmiralError


class Uses:
    """Counts threads within its ``with`` blocks, and closes once all are out.

    A thread that is within may enter again, even while another one waits in `close`.
    """

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._change = threading.Condition()
        self._mine = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._mine, "depth", 0)
        with self._change:
            if self._closed and not depth:
                raise closed_error()
            self._count += 1
        self._mine.depth = depth + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._mine.depth -= 1
        with self._change:
            self._count -= 1
            self._change.notify_all()

    def close(self) -> None:
        """Refuse whoever comes, with an `AdmiralError`, and wait until no thread is within."""
        with self._change:
            self._closed = True
            self._change.wait_for(lambda: self._count == 0)


def closed_error() -> AdmiralError:
    """Return the error of whoever comes too late."""
    return AdmiralError("the system was closed. Open another one.")
