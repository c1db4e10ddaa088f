"""Read claims from JSON Lines files and from standard input, slow streams ahead in a thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader, FileIO
from itertools import chain
from pathlib import Path
from queue import Queue
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from admiral.errors import AdmiralError, RecordError
from admiral.io.text_cleaning import clean_text
from admiral.records import Claim

T = TypeVar("T")


@runtime_checkable
class ReadyStream(Protocol):
    """A stream that knows whether its next item is available without waiting."""

    def ready(self) -> bool:
        """Return whether the next item, the end or an error is available without waiting."""
        ...


class Prefetch(Iterator[T], Generic[T]):
    """Iterate over a stream that a thread reads ahead.

    Unlike other iterators it knows whether the next item is available without waiting. The thread
    starts at once and ends with the stream, or with the process. `stream`: the stream. An error
    that it raises is raised after the items before it.
    """

    def __init__(self, stream: Iterable[T], max_items: int = 1024) -> None:
        self._queue: Queue[tuple[T] | BaseException] = Queue(max_items)
        threading.Thread(
            target=self._read, args=(stream,), name="admiral-prefetch", daemon=True
        ).start()

    def ready(self) -> bool:
        """Return whether the next item, the end or an error is available without waiting."""
        return not self._queue.empty()

    def __next__(self) -> T:
        item = self._queue.get()
        if isinstance(item, BaseException):
            self._queue.put(item)  # the next call raises it again
            raise item
        return item[0]

    def _read(self, stream: Iterable[T]) -> None:
        try:
            for item in stream:
                self._queue.put((item,))
        except BaseException as error:  # also SystemExit: otherwise the reader would wait forever
            self._queue.put(error)
        else:
            self._queue.put(StopIteration())


#: Receives the error of each bad record, which is then left out.
Skip = Callable[[RecordError], None]

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def evenly_spaced(claims: Sequence[T], limit: int) -> Sequence[T]:
    """Return at most `limit` claims at equal distances, or all of them if `limit` is 0."""
    return claims[:: max(len(claims) // limit, 1)][:limit] if limit else claims


def read_claims(path: Path, skip: Skip | None = None) -> Iterator[Claim]:
    """Yield the claims of a JSON Lines file in order.

    Each line is an object with the field ``claim`` (text) and optionally ``id`` or ``uid`` (text or
    an integer); without these, the line number is the id. Lines may also be BEIR's queries, with
    the fields ``_id`` and ``text``. Other fields and blank lines are ignored. `skip` is called for
    each bad line, which is then skipped; by default, its error is raised. Raises RecordError for a
    bad line, naming file, line, field and remedy, or for an id that occurs twice, naming both
    lines; unless `skip` is given. Raises AdmiralError if the file cannot be read or holds no claim.
    """
    try:
        with path.open("rb") as file:
            lines = _lines(file, str(path), skip)
            yield from _claims(lines, str(path), _claim_of_record, skip)
    except OSError as error:
        raise AdmiralError(f"{path}: the claims cannot be read: {error.strerror}") from error


def stream_claims(
    stream: Iterable[bytes], name: str = "standard input", skip: Skip | None = None
) -> Iterator[Claim]:
    """Yield the claims of an open stream as they arrive.

    If the first line that is not blank begins with ``{``, the stream is JSON Lines as in
    `read_claims`. In any other stream, each line is a claim as plain text, whose id is the line
    number, or a JSON object as in `read_claims`. `name` is that of the stream, for messages. Raises
    RecordError or AdmiralError as in `read_claims`.
    """
    lines = _lines(stream, name, skip)
    first = next(lines, None)
    if first is None:
        raise AdmiralError(
            f"{name}: holds no claims. Give one per line, as text or as JSON objects"
        )
    read = _claim_of_record if first[1].lstrip().startswith("{") else _claim_of_line
    yield from _claims(chain([first], lines), name, read, skip)


def prefetch_claims(
    descriptor: int, name: str = "standard input", skip: Skip | None = None
) -> Prefetch[Claim]:
    """Return the claims of a file descriptor (see `stream_claims`), read ahead by a thread."""
    # Not through sys.stdin: Python cannot exit while a thread waits for its lock.
    return Prefetch(stream_claims(BufferedReader(FileIO(descriptor, closefd=False)), name, skip))


def _lines(stream: Iterable[bytes], name: str, skip: Skip | None) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) for the lines that are not blank."""
    for number, raw in enumerate(stream, 1):
        if number == 1:
            if raw.startswith(_UTF16_BOMS):
                raise AdmiralError(f"{name}: is UTF-16 text. Save it as UTF-8")
            raw = raw.removeprefix(_BOM)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} of the line is not UTF-8"
            bad = RecordError(f"{name}:{number}", "", problem, "Save the file as UTF-8")
            if skip is None:
                raise bad from error
            skip(bad)
            continue
        if text.strip():
            yield number, text


def _claims(
    lines: Iterable[tuple[int, str]],
    name: str,
    read: Callable[[str, str, int], Claim],
    skip: Skip | None,
) -> Iterator[Claim]:
    """Yield the claims that `read` returns for a text, its place and its line number."""
    seen: dict[str, int] = {}
    for number, text in lines:
        where = f"{name}:{number}"
        try:
            claim = read(text, where, number)
            if claim.id in seen:
                problem = f"{claim.id!r} is also the id of line {seen[claim.id]}"
                remedy = "Give every claim its own id, or leave the ids out to use line numbers"
                raise RecordError(where, "id", problem, remedy)
        except RecordError as error:
            if skip is None:
                raise
            skip(error)
            continue
        seen[claim.id] = number
        yield claim
    if not seen:
        raise AdmiralError(f"{name}: holds no claims. Each line must be one JSON object")


def _claim_of_record(text: str, where: str, number: int) -> Claim:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at character {error.pos + 1}"
        remedy = 'Each line must be one object such as {"id": "1", "claim": "..."}'
        raise RecordError(where, "", problem, remedy) from error
    except (ValueError, RecursionError) as error:  # a huge number or deep nesting
        raise RecordError(where, "", "cannot be parsed", "Correct or remove the line") from error
    if not isinstance(record, dict):
        problem = f"is a JSON {_kind(record)}, not an object"
        raise RecordError(where, "", problem, 'Write it as {"claim": "..."}')
    if "claim" not in record and "_id" in record and "text" in record:  # a query of BEIR
        return Claim(claim_id(record, where, number, ("_id",)), claim_text(record, where, "text"))
    return Claim(claim_id(record, where, number), claim_text(record, where))


def _claim_of_line(text: str, where: str, number: int) -> Claim:
    if _is_object(text):
        return _claim_of_record(text, where, number)
    return Claim(str(number), clean_text(text))


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def claim_text(record: dict[str, Any], where: str, field: str = "claim") -> str:
    """Return the claim of a JSON record.

    Raises RecordError if it is missing, empty or not text.
    """
    if field not in record:
        names = ", ".join(map(repr, list(record)[:8])) or "none"
        problem = f"is missing (fields found: {names})"
        raise RecordError(where, field, problem, "Give the text of the claim in this field")
    text = record[field]
    if not isinstance(text, str):
        problem = f"is a JSON {_kind(text)}, not text"
        raise RecordError(where, field, problem, "Give the claim as a JSON string")
    if not text.strip():
        raise RecordError(where, field, "is empty", "Write the claim or remove the line")
    return clean_text(text)


def claim_id(
    record: dict[str, Any], where: str, number: int, fields: Sequence[str] = ("id", "uid")
) -> str:
    """Return the id of a JSON record, or else the number of its line.

    `fields`: fields of the id; the first that is not null counts. Raises RecordError if the id is
    neither text nor an integer.
    """
    field = next((name for name in fields if record.get(name) is not None), None)
    if field is None:
        return str(number)
    value = record[field]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return value
    problem = f"is a JSON {_kind(value)}" if not isinstance(value, str) else "is empty"
    remedy = "Give text or an integer, or leave the field out to use the line number"
    raise RecordError(where, field, problem, remedy)


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")
