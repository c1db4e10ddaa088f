"""Reference counting for resources that several threads use and one of them closes."""

from __future__ import annotations

import threading
from types import TracebackType

from admiral.errors import AdmiralError


class ReferenceCount:
    """Count the threads inside its ``with`` blocks; `close` waits until the count is zero.

    A thread that is inside may enter again, even while another thread waits in `close`.
    """

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()
        self._local = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._local, "depth", 0)
        with self._changed:
            if self._closed and not depth:
                raise closed_error()
            self._count += 1
        self._local.depth = depth + 1

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._local.depth -= 1
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Refuse new threads with an `AdmiralError`, and wait until no thread is inside."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._count == 0)


def closed_error() -> AdmiralError:
    """Return the error for a call on a closed system."""
    return AdmiralError("the system was closed. Open another one.")
