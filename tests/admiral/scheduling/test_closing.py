"""Waiting until nobody uses a thing any more."""

from __future__ import annotations

import threading

import pytest

from admiral import AdmiralError
from admiral.scheduling.closing import Uses


def test_who_closes_goes_on_when_all_are_out_and_lets_nobody_in() -> None:
    uses, out = Uses(), threading.Event()
    closer = threading.Thread(target=lambda: (uses.close(), out.set()))
    errors: list[BaseException] = []

    def come_late() -> None:
        try:
            with uses:
                pass
        except AdmiralError as error:
            errors.append(error)

    with uses:
        closer.start()
        assert not out.wait(0.05)
        late = threading.Thread(target=come_late)
        late.start()
        late.join()
        with uses:  # a part of what was begun in time
            pass
        assert not out.is_set()
    assert out.wait(10)
    closer.join()
    assert [str(error) for error in errors] == ["the system was closed. Open another one."]
    with pytest.raises(AdmiralError, match="was closed"), uses:
        pass
    uses.close()


def test_an_error_within_is_an_end_too() -> None:
    uses = Uses()
    with pytest.raises(KeyError), uses:
        raise KeyError
    uses.close()
