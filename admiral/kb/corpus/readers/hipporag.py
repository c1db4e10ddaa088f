"""Read HippoRAG's corpora: one JSON array of passages, ``[{"title": ..., "text": ...}, ...]``.

A passage is a record of the format ``jsonl``. An array has no lines that could be read one by one,
so the file is read as a whole, and its size is limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.remote import Place
from admiral.io.streams import open_binary
from admiral.kb.corpus.readers.corpus_records import SKIP_BAD_REMEDY

# A larger file would fill the memory: as text it may take four times as much.
LARGEST_ARRAY = 256 * 2**20  # bytes
_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")


def begins_with_array(path: Place) -> bool:
    """Return whether the first character of a file, apart from white space, is ``[``."""
    with open_binary(path) as stream:
        start: bytes = stream.read(256)
    return start.removeprefix(_BOM).lstrip(b" \t\r\n").startswith(b"[")


def array_objects(path: Place) -> Iterator[tuple[int, dict[str, Any]] | RecordError]:
    """Yield (line number, object) for each member of the JSON array in a file.

    Members that are not objects are yielded as `RecordError`.

    Parameters
    ----------
    path
        The file, which may be compressed.

    Raises
    ------
    AdmiralError
        If the file cannot be read, is larger than `LARGEST_ARRAY` when decompressed, is not UTF-8
        or is not a JSON array. Nothing after a syntax error can be read, so the error is raised
        and not skipped.
    """
    text = _text(path)
    decoder = json.JSONDecoder()
    at, line = _skip_space(text, 0, 1)
    if not text.startswith("[", at):
        raise _syntax_error(path, line, "it does not begin with '['")
    at, line = _skip_space(text, at + 1, line)
    is_closed = text.startswith("]", at)
    while not is_closed:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _syntax_error(path, error.lineno, error.msg) from error
        except (ValueError, RecursionError) as error:  # a huge number or deep nesting
            raise _syntax_error(path, line, str(error)) from error
        if isinstance(value, dict):
            yield line, value
        else:
            problem = f"a JSON {type(value).__name__} instead of an object"
            yield RecordError(f"{path}:{line}", "", problem, SKIP_BAD_REMEDY)
        at, line = _skip_space(text, end, line + text.count("\n", at, end))
        is_closed = text.startswith("]", at)
        if not is_closed:
            if not text.startswith(",", at):
                raise _syntax_error(path, line, "',' or ']' is missing after a member")
            at, line = _skip_space(text, at + 1, line)
    at, line = _skip_space(text, at + 1, line)
    if at < len(text):
        raise _syntax_error(path, line, "there is text after the array")


def _text(path: Place) -> str:
    with open_binary(path) as stream:
        data: bytes = stream.read(LARGEST_ARRAY + 1)
    if len(data) > LARGEST_ARRAY:
        raise AdmiralError(
            f"{path}: a JSON array is read as a whole, and this one is larger than "
            f"{LARGEST_ARRAY >> 20} MiB. Write it as JSON Lines, for example with `jq -c '.[]'`, "
            "which has the format jsonl."
        )
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise AdmiralError(
            f"{path}:{line}: not UTF-8. Convert the file to UTF-8, for example with iconv."
        ) from error


def _skip_space(text: str, at: int, line: int) -> tuple[int, int]:
    """Return the position of the next character that is not white space, and its line."""
    match = _SPACE.match(text, at)
    end = at if match is None else match.end()
    return end, line + text.count("\n", at, end)


def _syntax_error(path: Place, line: int, problem: str) -> AdmiralError:
    return AdmiralError(
        f"{path}:{line}: not a JSON array ({problem}). The format hipporag is one array of objects "
        'such as {"title": "...", "text": "..."}.'
    )
