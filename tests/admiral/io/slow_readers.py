"""Functions that a reading process runs in tests, each with a fault of its own."""

import os
import signal
import time


def length(data, name):
    print("a parser that prints")
    return {"name": name, "length": len(data), "process": os.getpid()}


def spin(data):
    while True:
        pass


def wait(data):
    time.sleep(3600)


def crash(data):
    os.kill(os.getpid(), signal.SIGSEGV)


def fill_memory(data):
    try:
        bytearray(64 * 2**30)
    except MemoryError:
        return "refused"
    return "allowed"
