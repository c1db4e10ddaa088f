"""Stop a run before its last step: at a time limit or on a signal."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopConditions:
    """Report whether to stop after the current step; a context manager.

    SIGTERM, which clusters send before they reclaim a machine, and the first Ctrl-C request a stop.
    A second one ends the program at once.

    Parameters
    ----------
    minutes
        Time limit; 0 for none.
    """

    def __init__(self, minutes: float) -> None:
        self._deadline = time.monotonic() + 60 * minutes if minutes else None
        self._previous: dict[signal.Signals, Any] = {}
        self.signal: int | None = None

    def __enter__(self) -> StopConditions:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    @property
    def wanted(self) -> bool:
        """Whether a stop is requested."""
        expired = self._deadline is not None and time.monotonic() >= self._deadline
        return expired or self.signal is not None

    def _handle(self, number: int, _: FrameType | None) -> None:
        self.signal = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()
