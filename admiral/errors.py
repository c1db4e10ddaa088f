"""Errors that a user can cause. Each message names the problem and the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import shorten
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi.exceptions import RequestValidationError
    from pydantic import ValidationError


class AdmiralError(Exception):
    """An error in the input or the environment.

    The message names the file, the field or line, and what to do about it. The command line prints
    it as one line and exits with status 1.
    """


class RecordError(AdmiralError):
    """A bad record in a corpus or a file of claims.

    - `where`: the location, such as ``corpus.jsonl:17``.
    - `field`: the field in error, or an empty string if the whole record is bad.
    - `problem`: what is wrong.
    - `remedy`: what the user can do.
    """

    def __init__(self, where: str, field: str, problem: str, remedy: str) -> None:
        self.where, self.field, self.problem, self.remedy = where, field, problem, remedy
        location = f"{where}: field {field!r}" if field else where
        super().__init__(f"{location}: {problem}. {remedy}")


# Parts of a place that name an alternative of a field, such as "constrained-int".
_ALTERNATIVE = re.compile(r"int|str|float|bool|.*[\[\]-].*")


def problem_of(error: ValidationError | RequestValidationError) -> tuple[str, str]:
    """Return the first field that pydantic finds wrong, and what is wrong with it."""
    problems = [(_field(each), each) for each in error.errors()]
    field, first = problems[0]
    if first["type"] in ("missing", "missing_argument"):
        return field, "is missing"
    # Alternatives of a field, of which one is enough.
    texts = dict.fromkeys(each["msg"] for other, each in problems if other == field)
    problem = " or ".join(text.removeprefix("Input ").removeprefix("String ") for text in texts)
    problem = (
        re.sub(r"a valid (tuple|list)", "a list", problem)
        .removeprefix("Dictionary ")
        .removeprefix("Tuple ")
    )
    problem = re.sub(
        r"a (valid )?dictionary or (an )?(instance of \w+|object.*)", "an object", problem
    )
    if first["type"] == "value_error":
        return field, problem.removeprefix("Value error, ")
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return field, "is unknown"
    return field, f"{shorten(repr(first['input']), 60)} {problem}"


def _field(error: Mapping[str, Any]) -> str:
    names = (
        f"[{part}]" if isinstance(part, int) else f".{part}"
        for part in error["loc"]
        if not _ALTERNATIVE.fullmatch(str(part))
    )
    return "".join(names).removeprefix(".")


def first_line(error: BaseException) -> str:
    """Return the first line of an error message, or the name of the error's type if it is empty."""
    return _lines(error)[0]


def last_line(error: BaseException) -> str:
    """Return the last line of an error message, which names the cause if it holds a traceback."""
    return _lines(error)[-1]


def _lines(error: BaseException) -> list[str]:
    lines = (line.strip().rstrip(".") for line in str(error).splitlines())
    return [line for line in lines if line] or [type(error).__name__]
