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
from typing import Any, Generic, TypeVar

from admiral.errors import AdmiralError, RecordError
from admiral.io.sentence_splitter import split_sentences
from admiral.io.streams import NumberedLine, number_lines, numbered_lines, parse_object
from admiral.io.text_cleaning import clean_text
from admiral.records import Claim

T = TypeVar("T")

#: A record with its place in a file and its number, from 1.
PlacedRecord = tuple[str, int, dict[str, Any]]
#: Receives the error of each bad record, which is then left out.
Skip = Callable[[RecordError], None]

_EXAMPLE = '{"id": "1", "claim": "..."}'
_ARRAY = re.compile(rb"\s*\[\s*(?:\{|\]|$)")
_CITATION = "[CIT]"
_PART = " [SEP] "


def begins_table(line: bytes) -> bool:
    """Return whether the first line of a file is the heading of CSV with a column ``claim``."""
    if line.lstrip().startswith((b"{", b"[")):
        return False
    cells = next(csv.reader([line.decode("utf-8", "replace")]), [])
    return len(cells) > 1 and "claim" in cells


def placed_records(
    lines: Iterable[NumberedLine | RecordError],
    name: str,
    example: str = _EXAMPLE,
    *,
    may_be_text: bool = False,
) -> Iterator[PlacedRecord | RecordError]:
    """Yield the records of JSON Lines, of one JSON array of objects, or of CSV with a heading.

    The empty example with which FEVEROUS's files begin is left out.

    `name`: of the file. `example`: a correct record, for messages. `may_be_text`: whether each line
    of another file is a claim as plain text, or a JSON object. Raises RecordError if an array or a
    table cannot be read; other bad records are yielded as errors.
    """
    lines = iter(lines)
    head = next(lines, None)
    if head is None:
        return
    first = b"{" if isinstance(head, RecordError) else head[1]
    lines = chain([head], lines)
    if _ARRAY.match(first):
        records = _array(lines, name, example)
    elif begins_table(first):
        records = _table(lines, name)
    else:
        as_text = may_be_text and not first.lstrip().startswith(b"{")
        records = _objects(lines, name, example, as_text)
    for item in records:
        if isinstance(item, RecordError) or not (
            item[1] == 1 and item[2].get("claim") == "" == item[2].get("id")
        ):
            yield item


def _array(
    lines: Iterable[NumberedLine | RecordError], name: str, example: str
) -> Iterator[PlacedRecord | RecordError]:
    try:
        members = json.loads("".join(text for _, text in _texts(lines, name)))
    except (ValueError, RecursionError) as error:
        remedy = "Give one JSON list, or one JSON object on each line"
        raise RecordError(name, "", f"not a JSON list ({error})", remedy) from error
    for number, record in enumerate(members, 1):
        where = f"{name}: record {number}"
        if isinstance(record, dict):
            yield where, number, record
        else:
            yield RecordError(where, "", "not a JSON object", f"Write it as {example}")


def _table(lines: Iterable[NumberedLine | RecordError], name: str) -> Iterator[PlacedRecord]:
    rows = csv.DictReader(text for _, text in _texts(lines, name))
    try:
        for number, row in enumerate(rows, 1):
            yield f"{name}: row {number}", number, row
    except csv.Error as error:
        raise RecordError(
            f"{name}:{rows.line_num}", "", f"is not CSV ({error})", "Correct the line"
        ) from error


def _objects(
    lines: Iterable[NumberedLine | RecordError], name: str, example: str, as_text: bool
) -> Iterator[PlacedRecord | RecordError]:
    for item in lines:
        try:
            if isinstance(item, RecordError):
                raise item
            number, line = item
            where = f"{name}:{number}"
            try:
                record = parse_object(line, where, example)
            except RecordError:
                if not as_text:
                    raise
                ((_, text),) = _texts([item], name)
                record = {"claim": text}
            yield where, number, record
        except RecordError as error:
            yield error


def _texts(lines: Iterable[NumberedLine | RecordError], name: str) -> Iterator[tuple[int, str]]:
    for item in lines:
        if isinstance(item, RecordError):
            raise item
        number, line = item
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} of the line is not UTF-8"
            raise RecordError(f"{name}:{number}", "", problem, "Save it as UTF-8") from error


def distinct(items: Iterable[tuple[str, T] | RecordError], skip: Skip | None = None) -> Iterator[T]:
    """Yield records with an ``id`` from (place, record), each id once.

    `skip`: called for each bad record and each one with the id of another; None to raise the error.
    """
    seen: dict[str, str] = {}
    for item in items:
        if not isinstance(item, RecordError):
            where, record = item
            id: str = record.id  # type: ignore[attr-defined]
            if id not in seen:
                seen[id] = where
                yield record
                continue
            remedy = "Give each record its own id, or leave the ids out to use line numbers"
            item = RecordError(where, "id", f"{id!r} is also the id at {seen[id]}", remedy)
        if skip is None:
            raise item
        skip(item)


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


def evenly_spaced(claims: Sequence[T], limit: int) -> Sequence[T]:
    """Return at most `limit` claims at equal distances, or all of them if `limit` is 0."""
    return claims[:: max(len(claims) // limit, 1)][:limit] if limit else claims


def read_claims(path: Path, skip: Skip | None = None) -> Iterator[Claim]:
    """Yield the claims of a file in order.

    The file is JSON Lines, one JSON array of objects, or CSV with a heading; compressed or not. The
    claim is in the field ``claim``, or where a data set has it: ``question`` (HotpotQA), ``input``
    (KILT, WAFER), ``text`` (BEIR, FoolMeTwice). The id is ``id``, ``uid``, ``claim_id`` or ``_id``
    (text or an integer), or that in ``meta`` (WiCE); without these, it is the number of the line,
    or of the record in an array or in CSV. Other fields, blank lines and the empty example at the
    head of FEVEROUS's files are ignored. Of WAFER's input, the sentence in front of ``[CIT]`` is
    the claim. `skip` is called for each bad record, which is then skipped; by default, its error is
    raised. Raises RecordError for a bad record, naming file, place, field and remedy, or for an id
    that occurs twice, naming both places; unless `skip` is given.
    """
    yield from _claims(placed_records(numbered_lines(path), str(path)), str(path), skip)


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
    lines = number_lines(stream, name)
    yield from _claims(placed_records(lines, name, may_be_text=True), name, skip)


def prefetch_claims(
    descriptor: int, name: str = "standard input", skip: Skip | None = None
) -> Prefetch[Claim]:
    """Return the claims of a file descriptor (see `stream_claims`), read ahead by a thread."""
    # Not through sys.stdin: Python cannot exit while a thread waits for its lock.
    return Prefetch(stream_claims(BufferedReader(FileIO(descriptor, closefd=False)), name, skip))


def _claims(
    records: Iterable[PlacedRecord | RecordError], name: str, skip: Skip | None
) -> Iterator[Claim]:
    empty = True
    for claim in distinct(map(_placed_claim, records), skip):
        empty = False
        yield claim
    if empty:
        raise AdmiralError(f"{name}: holds no claims. Give one a line, such as {_EXAMPLE}")


def _placed_claim(item: PlacedRecord | RecordError) -> tuple[str, Claim] | RecordError:
    if isinstance(item, RecordError):
        return item
    where, number, record = item
    try:
        return where, claim_of_record(record, where, number)
    except RecordError as error:
        return error


def claim_of_record(record: dict[str, Any], where: str, number: int) -> Claim:
    """Return the claim of a record of any data set that `read_claims` describes.

    `where`, `number`: place of the record, for messages, and its number, the id of a record without
    one. Raises RecordError if the claim or its id is missing, empty or of another type.
    """
    field, id_fields = claim_fields(record)
    if field not in record:
        names = ", ".join(map(repr, list(record)[:8])) or "none"
        problem = f"is missing (fields found: {names})"
        raise RecordError(where, field, problem, "Give the text of the claim in this field")
    text = record[field]
    if not isinstance(text, str) or not text.strip():
        problem = "is empty" if isinstance(text, str) else f"is {json.dumps(text)}, not text"
        raise RecordError(where, field, problem, "Write the claim as text, or leave it out")
    text = clean_text(text)
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
    if value == "" or isinstance(value, bool) or not isinstance(value, int | str):
        problem = f"is {json.dumps(value)}, not a text or an integer"
        raise RecordError(where, field, problem, "Correct it, or leave it out to use line numbers")
    return str(value)
