"""What is quoted of other libraries' errors."""

from __future__ import annotations

import pytest

from admiral.errors import first_line, last_line


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("no space.", "no space", "no space"),
        ("\nray::Worker.open() (pid=7)\n  File x\nValueError: 3\n\n", "ray::Worker.open() (pid=7)",
         "ValueError: 3"),
        ("", "KeyError", "KeyError"),
        (" \n.\n", "KeyError", "KeyError"),
    ],
)  # fmt: skip
def test_one_line_is_quoted(said: str, first: str, last: str) -> None:
    class SaidError(KeyError):
        def __str__(self) -> str:
            return said

    SaidError.__name__ = "KeyError"
    assert (first_line(SaidError()), last_line(SaidError())) == (first, last)
