"""Waiting until nobody uses a thing any more."""

from __future__ import annotations

import threading

import pytest

from admiral.uses import Uses


def test_who_waits_goes_on_when_all_are_out() -> None:
    uses, out = Uses(), threading.Event()
    waiter = threading.Thread(target=lambda: (uses.wait(), out.set()))
    with uses, uses:
        waiter.start()
        assert not out.wait(0.05)
    assert out.wait(10)
    waiter.join()


def test_an_error_within_is_an_end_too() -> None:
    uses = Uses()
    with pytest.raises(KeyError), uses:
        raise KeyError
    uses.wait()
