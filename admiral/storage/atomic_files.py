"""Write files atomically, with errors that name the file and the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from admiral.errors import AdmiralError
from admiral.storage import file_replacing
from admiral.storage.file_replacing import publish_file, replacing_path, sync_path
from admiral.storage.output_paths import resolve_output_path

__all__ = [
    "as_os_errors",
    "encode_record",
    "explain_write_errors",
    "publish_file",
    "replacing",
    "replacing_path",
    "sync_path",
    "write_atomically",
]

# Legal inside JSON strings, but many readers take these characters for line breaks.
_LINE_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return a record as one line of JSON in UTF-8, with the line feed.

    Lone surrogates, which UTF-8 cannot encode, and Unicode line breaks are escaped.
    """
    text = json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS)
    return text.encode("utf-8", "backslashreplace") + b"\n"


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when the block ends without an error.

    Works as `admiral.storage.file_replacing.replacing`, and follows symbolic links: the file that a
    link leads to is replaced, the link stays.

    Raises
    ------
    AdmiralError
        If `path` exists and is not a regular file.
    OSError
        If writing fails. The old file is unchanged and the partial file is removed.
    """
    with file_replacing.replacing(resolve_output_path(path)) as file:
        yield file


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a file that replaces `path`, as `replacing` does.

    Raises
    ------
    AdmiralError
        If writing fails, or `path` is not a regular file. The old file is unchanged.
    """
    with explain_write_errors(path), replacing(path) as file:
        file.writelines(chunks)


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into an `AdmiralError` that names `path`."""
    try:
        yield
    except OSError as error:
        remedy = "What was written before is kept; fix this and run the same command again"
        raise AdmiralError(f"{path}: cannot be written: {error.strerror}. {remedy}") from error


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Turn the errors that libraries raise if they cannot write a file into `OSError`.

    safetensors raises `SafetensorError`, tokenizers a bare `Exception`, and torch a `RuntimeError`
    of its archive writer.
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
