"""Handlers of faults: Ray puts its own in the place of Java's, which then dies of what is harmless.

Java takes many a null pointer by a SIGSEGV that it handles. Ray's handler, which prints where a
process crashed, takes it for the end. Where Ray starts first all is well, as Java then asks its
own handler first.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_SIZE = 1024  # a struct sigaction has 152 bytes here, and nowhere many more


@contextmanager
def kept_fault_handlers() -> Iterator[None]:
    """Put the handlers of faults back that were there before the block."""
    # Python's signal module knows only handlers written in Python.
    library = ctypes.CDLL(None)
    before = {fault: ctypes.create_string_buffer(_SIZE) for fault in _FAULTS}
    for fault, action in before.items():
        library.sigaction(int(fault), None, action)
    try:
        yield
    finally:
        for fault, action in before.items():
            library.sigaction(int(fault), action, None)
