"""Read claims from files and from standard input, slow streams ahead in a thread.

Data sets publish claims as JSON Lines, JSON arrays or CSV.
"""

from __future__ import annotations

import csv
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader, FileIO
from itertools import chain
from pathlib import Path
from queue import Queue
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from admiral.errors import AdmiralError, RecordError
from admiral.io.sentence_splitter import split_sentences
from admiral.io.streams import is_compressed, open_binary
from admiral.io.text_cleaning import clean_text
from admiral.records import Claim

#: A record with its place in a file and its number, from 1.
PlacedRecord = tuple[str, int, dict[str, Any]]

_ARRAY = re.compile(r"\s*\[\s*(?:\{|\]|$)")
_CITATION = "[CIT]"
_PART = " [SEP] "


def begins_array(line: str) -> bool:
    """Return whether the first line of a file begins a JSON array of objects."""
    return _ARRAY.match(line) is not None


def begins_table(line: str) -> bool:
    """Return whether the first line of a file is the heading of CSV with a column ``claim``."""
    if line.lstrip().startswith(("{", "[")):
        return False
    cells = next(csv.reader([line]), [])
    return len(cells) > 1 and "claim" in cells


def array_records(
    text: str | bytes, name: str, example: str
) -> Iterator[PlacedRecord | RecordError]:
    """Yield the objects of a JSON array, other members as errors.

    `name`: name of the file. `example`: a correct record, for messages. Raises RecordError if the
    text is no array.
    """
    try:
        members = json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = "Give one JSON list, or one JSON object on each line"
        raise RecordError(name, "", f"not a JSON list ({error})", remedy) from error
    for number, record in enumerate(members, 1):
        where = f"{name}: record {number}"
        if isinstance(record, dict):
            yield where, number, record
        else:
            yield RecordError(where, "", "not a JSON object", f"Write it as {example}")


def table_records(lines: Iterable[str], name: str) -> Iterator[PlacedRecord]:
    """Yield the rows of CSV as records of text, numbered without the heading.

    Raises RecordError if the lines are not CSV.
    """
    rows = csv.DictReader(lines)
    try:
        for number, row in enumerate(rows, 1):
            yield f"{name}: row {number}", number, row
    except csv.Error as error:
        raise RecordError(
            f"{name}:{rows.line_num}", "", f"is not CSV ({error})", "Correct the line"
        ) from error


def is_empty_example(record: dict[str, Any], number: int) -> bool:
    """Return whether a record is the empty example with which FEVEROUS's files begin."""
    return number == 1 and record.get("claim") == "" == record.get("id")


def is_wafer(record: dict[str, Any]) -> bool:
    """Return whether a record is one of WAFER, which marks the citation in its input."""
    text = record.get("input")
    return isinstance(text, str) and _CITATION in text


def claim_fields(record: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the field of a record's claim and the fields that may hold its id, first to last."""
    if "claim" not in record:
        if "question" in record or "paragraphs" in record:  # HotpotQA, HippoRAG's questions
            return "question", ("_id", "id", "uid")
        if "input" in record:  # KILT, WAFER
            return "input", ("id",)
        if "text" in record and "_id" in record:  # queries of BEIR
            return "text", ("_id",)
        if "text" in record and "wikipedia_page" in record:  # FoolMeTwice
            return "text", ("id",)
    return "claim", ("id", "uid", "claim_id")


def cited_sentence(text: str, sentences: Sequence[str] = ()) -> str:
    """Return the claim of a record of WAFER, or "": the last sentence in front of ``[CIT]``.

    `text`: its input, whose last part is the text. `sentences`: those in front of the mark, where
    the record has them.
    """
    given = " ".join(sentences[-1].replace(_CITATION, " ").split()) if sentences else ""
    if given:
        return given
    before, _, _ = text.split(_PART)[-1].partition(_CITATION)
    return (split_sentences(" ".join(before.split())) or [""])[-1]


T = TypeVar("T")

#: A claim with its place, as messages about another claim name it, and as errors name it.
_PlacedClaim = tuple[str, str, Claim]
_EXAMPLE = '{"id": "1", "claim": "..."}'
_ONE_OBJECT = "Each line must be one JSON object"


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
    """Yield the claims of a file in order.

    The file is JSON Lines, one JSON array of objects, or CSV with a heading; compressed or not. The
    claim is in the field ``claim``, or where a data set has it: ``question`` (HotpotQA), ``input``
    (KILT, WAFER), ``text`` (BEIR, FoolMeTwice). The id is ``id``, ``uid``, ``claim_id`` or
    ``_id`` (text or an integer), or that in ``meta`` (WiCE); without these, it is the number of the
    line, or of the record in an array or in CSV. Other fields, blank lines and the empty example at
    the head of FEVEROUS's files are ignored. Of WAFER's input, the sentence in front of ``[CIT]``
    is the claim. `skip` is called for each bad record, which is then skipped; by default, its error
    is raised. Raises RecordError for a bad record, naming file, place, field and remedy, or for an
    id that occurs twice, naming both places; unless `skip` is given. Raises AdmiralError if the
    file cannot be read or holds no claim.
    """
    try:
        with path.open("rb") as file:
            if is_compressed(file.peek(6)[:6]):
                with open_binary(path) as decompressed:
                    yield from _claims_of_stream(decompressed, str(path), skip)
            else:
                yield from _claims_of_stream(file, str(path), skip)
    except OSError as error:
        raise AdmiralError(f"{path}: the claims cannot be read: {error.strerror}") from error


def stream_claims(
    stream: Iterable[bytes], name: str = "standard input", skip: Skip | None = None
) -> Iterator[Claim]:
    """Yield the claims of an open stream as they arrive.

    If the first line that is not blank begins with ``{``, begins an array of objects or is the
    heading of CSV, the stream is as in `read_claims`; an array is read as a whole. In any other
    stream, each line is a claim as plain text, whose id is the line number, or a JSON object.
    `name` is that of the stream, for messages. Raises RecordError or AdmiralError as in
    `read_claims`.
    """
    yield from _claims_of_stream(stream, name, skip, may_be_text=True)


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


def _claims_of_stream(
    stream: Iterable[bytes], name: str, skip: Skip | None, *, may_be_text: bool = False
) -> Iterator[Claim]:
    lines = _lines(stream, name, skip)
    if (head := next(lines, None)) is None:
        remedy = "Give one per line, as text or as JSON objects" if may_be_text else _ONE_OBJECT
        raise AdmiralError(f"{name}: holds no claims. {remedy}")
    first, lines = head[1], chain([head], lines)
    claims: Iterable[_PlacedClaim | RecordError]
    if begins_array(first):
        records = array_records("".join(text for _, text in lines), name, _EXAMPLE)
        claims = _read_records(records)
    elif begins_table(first):
        claims = _read_records(table_records((text for _, text in lines), name))
    else:
        as_record = not may_be_text or first.lstrip().startswith("{")
        claims = _read_lines(lines, name, _record_of_line if as_record else _text_or_record)
    yield from _distinct(claims, name, skip)


def _read_lines(
    lines: Iterable[tuple[int, str]], name: str, read: Callable[[str, str], dict[str, Any] | str]
) -> Iterator[_PlacedClaim | RecordError]:
    for number, text in lines:
        where = f"{name}:{number}"
        try:
            content = read(text, where)
        except RecordError as error:
            yield error
            continue
        if isinstance(content, str):
            yield f"line {number}", where, Claim(str(number), content)
        else:
            yield from _read_records([(where, number, content)], "line")


def _read_records(
    records: Iterable[PlacedRecord | RecordError], unit: str = "record"
) -> Iterator[_PlacedClaim | RecordError]:
    for item in records:
        if isinstance(item, RecordError):
            yield item
            continue
        where, number, record = item
        if is_empty_example(record, number):
            continue
        try:
            yield f"{unit} {number}", where, claim_of_record(record, where, number)
        except RecordError as error:
            yield error


def _distinct(
    claims: Iterable[_PlacedClaim | RecordError], name: str, skip: Skip | None
) -> Iterator[Claim]:
    seen: dict[str, str] = {}
    for item in claims:
        if not isinstance(item, RecordError):
            shown, where, claim = item
            if claim.id not in seen:
                seen[claim.id] = shown
                yield claim
                continue
            problem = f"{claim.id!r} is also the id of {seen[claim.id]}"
            remedy = "Give every claim its own id, or leave the ids out to use line numbers"
            item = RecordError(where, "id", problem, remedy)
        if skip is None:
            raise item
        skip(item)
    if not seen:
        raise AdmiralError(f"{name}: holds no claims. {_ONE_OBJECT}")


def _record_of_line(text: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at character {error.pos + 1}"
        remedy = f"Each line must be one object such as {_EXAMPLE}"
        raise RecordError(where, "", problem, remedy) from error
    except (ValueError, RecursionError) as error:  # a huge number or deep nesting
        raise RecordError(where, "", "cannot be parsed", "Correct or remove the line") from error
    if not isinstance(record, dict):
        problem = f"is a JSON {_kind(record)}, not an object"
        raise RecordError(where, "", problem, 'Write it as {"claim": "..."}')
    return record


def _text_or_record(text: str, where: str) -> dict[str, Any] | str:
    return _record_of_line(text, where) if _is_object(text) else clean_text(text)


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def claim_of_record(record: dict[str, Any], where: str, number: int) -> Claim:
    """Return the claim of a record of any data set that `read_claims` describes.

    `where`, `number`: place of the record, for messages, and its number, the id of a record without
    one. Raises RecordError if the claim or its id is missing, empty or of another type.
    """
    field, id_fields = claim_fields(record)
    text = claim_text(record, where, field)
    meta = record.get("meta")
    if is_wafer(record):
        given = meta.get("sentences") if isinstance(meta, dict) else None
        sentences = given if isinstance(given, list) else []
        text = cited_sentence(text, [each for each in sentences if isinstance(each, str)])
        if not text:
            raise RecordError(where, field, "has no text before [CIT]", "Leave out the record")
    if isinstance(meta, dict) and all(record.get(name) is None for name in id_fields):
        return Claim(claim_id(meta, f"{where}, meta", number), text)  # WiCE
    return Claim(claim_id(record, where, number, id_fields), text)


def claim_text(record: dict[str, Any], where: str, field: str) -> str:
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
