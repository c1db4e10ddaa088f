"""The forms in which data sets publish claims: JSON arrays, CSV, and the fields of each one."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from admiral.errors import RecordError

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
    # Imported here: its lists of words are read for this alone.
    from admiral.io.sentence_splitter import split_sentences

    before, _, _ = text.split(_PART)[-1].partition(_CITATION)
    return (split_sentences(" ".join(before.split())) or [""])[-1]
