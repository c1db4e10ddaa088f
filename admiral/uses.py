"""Who is using what is about to be closed."""

from __future__ import annotations

import threading
from types import TracebackType


class Uses:
    """Counts threads within its ``with`` blocks, so that another one can wait until all are out."""

    def __init__(self) -> None:
        self._count = 0
        self._change = threading.Condition()

    def __enter__(self) -> None:
        with self._change:
            self._count += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._change:
            self._count -= 1
            self._change.notify_all()

    def wait(self) -> None:
        """Wait until no thread is within."""
        with self._change:
            self._change.wait_for(lambda: self._count == 0)
