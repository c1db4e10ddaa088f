"""The errors that a user can cause, each with a message that names the remedy."""

from __future__ import annotations


class AdmiralError(Exception):
    """Bad input or a fault of the surroundings: shown as one line, exit status 1.

    The message names the file, the field (or line) and what to do about it.
    """


class RecordError(AdmiralError):
    """One bad record of a corpus or claims file.

    Parameters
    ----------
    where
        The place, such as ``corpus.jsonl:17``.
    field
        The offending field, or an empty string where the whole record is bad.
    problem
        What is wrong with it.
    remedy
        What the user can do.
    """

    def __init__(self, where: str, field: str, problem: str, remedy: str) -> None:
        self.where, self.field, self.problem, self.remedy = where, field, problem, remedy
        place = f"{where}: field {field!r}" if field else where
        super().__init__(f"{place}: {problem}. {remedy}")


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its type's name where it says nothing."""
    return _lines(error)[0]


def last_line(error: BaseException) -> str:
    """Return the last line, which names the cause where an error brings a traceback along."""
    return _lines(error)[-1]


def _lines(error: BaseException) -> list[str]:
    said = (line.strip().rstrip(".") for line in str(error).splitlines())
    return [line for line in said if line] or [type(error).__name__]
