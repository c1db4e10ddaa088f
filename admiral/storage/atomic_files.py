"""Writing files: records as lines, whole files at once, and errors that say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.storage.atomic_replace import replacing

# JSON allows them inside strings, yet many readers take them for line ends.
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return `record` as one line of JSON in UTF-8, with the line feed.

    Lone surrogates, which UTF-8 cannot hold, and Unicode line ends are written as escapes.
    """
    text = json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a temporary neighbour of `path`, then rename it into place.

    A link stays, and what it leads to is replaced.

    Raises
    ------
    AdmiralError
        If that fails, or something is there that is no regular file. The old file, where there was
        one, is untouched.
    """
    with explained(path), replacing(path) as file:
        file.writelines(chunks)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of the system into one `AdmiralError` that names `path`."""
    try:
        yield
    except OSError as error:
        remedy = "What was written before is kept; mend this and run the same command again"
        raise AdmiralError(f"{path}: cannot be written: {error.strerror}. {remedy}") from error


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn what libraries raise when they cannot write a file into OSError.

    tokenizers raises a bare Exception, torch a RuntimeError of its archive.
    """
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        raise OSError(str(error)) from error
    except RuntimeError as error:
        if "iostream" not in str(error) and "inline_container" not in str(error):
            raise
        raise OSError("the weights cannot be written") from error
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise OSError(str(error)) from error
