"""Reference counting: closing waits for the threads inside and refuses new ones."""

from __future__ import annotations

import threading

import pytest

from admiral.errors import AdmiralError
from admiral.scheduling.closing import ReferenceCount


def test_close_waits_for_threads_inside_and_refuses_new_ones() -> None:
    references, closed = ReferenceCount(), threading.Event()
    closer = threading.Thread(target=lambda: (references.close(), closed.set()))
    errors: list[BaseException] = []

    def enter_late() -> None:
        try:
            with references:
                pass
        except AdmiralError as error:
            errors.append(error)

    with references:
        closer.start()
        assert not closed.wait(0.05)
        late = threading.Thread(target=enter_late)
        late.start()
        late.join()
        with references:  # a thread that is inside may enter again
            pass
        assert not closed.is_set()
    assert closed.wait(10)
    closer.join()
    assert [str(error) for error in errors] == ["the system was closed. Open another one."]
    with pytest.raises(AdmiralError, match="was closed"), references:
        pass
    references.close()


def test_an_error_inside_the_block_releases_the_reference() -> None:
    references = ReferenceCount()
    with pytest.raises(KeyError), references:
        raise KeyError
    references.close()
