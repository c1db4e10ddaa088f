"""Streams that are read ahead by a thread."""

from __future__ import annotations

import time
from queue import Queue

import pytest

from admiral.io.claims import Prefetch


def wait_until_ready(stream):
    deadline = time.monotonic() + 10
    while not stream.ready():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_ready_tells_whether_an_item_is_available():
    source: Queue[int | None] = Queue()
    stream = Prefetch(iter(source.get, None))
    assert not stream.ready()
    source.put(7)
    wait_until_ready(stream)
    assert next(stream) == 7
    assert not stream.ready()
    source.put(None)
    wait_until_ready(stream)  # for the end, too
    assert list(stream) == list(stream) == []


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_an_error_is_raised_after_the_items_before_it(kind):
    def source():
        yield from range(3)
        raise kind("item 3 is bad")

    stream = Prefetch(source())
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    wait_until_ready(stream)
    for _ in range(2):
        with pytest.raises(kind, match="item 3"):
            next(stream)


def test_the_number_of_items_read_ahead_is_bounded():
    read: Queue[int] = Queue()

    def source():
        for number in range(100):
            read.put(number)
            yield number

    stream = Prefetch(source(), max_items=5)
    assert [read.get(timeout=10) for _ in range(6)] == list(range(6))  # the sixth cannot be put
    time.sleep(0.02)
    assert read.empty()
    assert list(stream) == list(range(100))
