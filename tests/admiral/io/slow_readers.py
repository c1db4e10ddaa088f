"""Functions that a reading process runs in tests, each with a fault of its own."""

from __future__ import annotations

import os
import signal
import time


def length(data: bytes, name: str) -> dict[str, object]:
    print("a parser that prints")
    return {"name": name, "length": len(data), "process": os.getpid()}


def spin(data: bytes) -> None:
    while True:
        pass


def wait(data: bytes) -> None:
    time.sleep(3600)


def crash(data: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fill_memory(data: bytes) -> str:
    try:
        bytearray(64 * 2**30)
    except MemoryError:
        return "refused"
    return "allowed"
