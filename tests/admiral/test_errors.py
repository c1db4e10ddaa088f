"""The line of an error message that is quoted."""

from __future__ import annotations

import pytest

from admiral.errors import first_line, last_line


@pytest.mark.parametrize(
    ("message", "first", "last"),
    [
        ("no space.", "no space", "no space"),
        ("\nray::Worker.open() (pid=7)\n  File x\nValueError: 3\n\n", "ray::Worker.open() (pid=7)",
         "ValueError: 3"),
        ("", "KeyError", "KeyError"),
        (" \n.\n", "KeyError", "KeyError"),
    ],
)  # fmt: skip
def test_first_and_last_line(message, first, last):
    class MessageError(KeyError):
        def __str__(self):
            return message

    MessageError.__name__ = "KeyError"
    assert (first_line(MessageError()), last_line(MessageError())) == (first, last)
