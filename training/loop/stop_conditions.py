"""When to stop before the last step: after some minutes, or when the system asks to."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopper:
    """Tells whether to stop after the step in hand; a context manager.

    SIGTERM, which clusters send before they take a machine away, and the first Ctrl-C are noted. A
    second one ends the program at once.

    Parameters
    ----------
    minutes
        Stop after so many; 0 for no limit.
    """

    def __init__(self, minutes: float) -> None:
        self._deadline = time.monotonic() + 60 * minutes if minutes else None
        self._before: dict[signal.Signals, Any] = {}
        self.signal: int | None = None

    def __enter__(self) -> Stopper:
        if threading.current_thread() is threading.main_thread():
            for one in _SIGNALS:
                self._before[one] = signal.signal(one, self._note)
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
        """Whether it is time to stop."""
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return late or self.signal is not None

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = number
        self._restore()

    def _restore(self) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)
        self._before.clear()
