"""Read the files that people write, in a process of its own within limits.

A file makes a document, and one for each sheet of a workbook and each attachment of a mail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import (
    OVER_TIME,
    FileLimits,
    OverTimeError,
    ReaderEndedError,
    read_limited,
)
from admiral.io.streams import open_binary
from admiral.kb.corpus.files import DamagedFileError, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.document_titles import choose_title, title_of_part, without_number
from admiral.kb.corpus.files.file_types import file_type, text_of
from admiral.kb.corpus.records import FileReport, Record, cleaned_record
from admiral.records import SECTION_SEPARATOR, Document

DAMAGED = "damaged, or not what their names say"
LOCKED = "lock files of open documents"
WITHOUT_TEXT = "without text"
_REMEDY = "Correct it, or leave it out with --exclude."


def read_document_file(
    file: FileReport, limits: FileLimits, *, strict: bool
) -> Iterator[Record | RecordError]:
    """Yield the documents of a file, and note in its report why there are none.

    `strict`: whether a damaged file is an error. One of an unknown type, which only its user can
    have named, always is.
    """
    if file_type(file.path.name) is None:
        remedy = "Give files such as .md, .txt, .html or .pdf, or name another --format."
        yield RecordError(f"{file.path}:1", "", "the type of the file is not known", remedy)
        return
    found = _extracted(file, limits)
    file.left_out.update(found.get("left_out", {}))
    file.notes += found.get("notes", [])
    reason, problem = found.get("skipped", ""), found.get("problem")
    if reason:
        remedy = "Raise --file-seconds, or leave it out with --exclude."
        error = problem and RecordError(
            f"{file.path}:1", "", problem, remedy if reason == OVER_TIME else _REMEDY
        )
        _skip(file, reason, error, strict)
    for fields in found.get("documents", ()):
        try:
            yield cleaned_record(_document_of(fields), file, 1)
        except RecordError as error:
            _skip(file, DAMAGED, error, strict)


def _skip(file: FileReport, reason: str, error: RecordError | None, strict: bool) -> None:
    if strict and error:
        raise error
    file.skip(reason, error)


def _extracted(file: FileReport, limits: FileLimits) -> dict[str, Any]:
    path, kind = file.path, file_type(file.path.name)
    assert kind is not None
    if path.name.startswith("~$"):
        return {"skipped": LOCKED}
    largest = limits.largest(kind.largest)
    try:
        with open_binary(path) as stream:
            data = stream.read(largest + 1)
        if len(data) > largest:
            return {"skipped": limits.too_large(kind.largest)}
        if not data:
            return {"skipped": WITHOUT_TEXT}
        found: dict[str, Any] = read_limited(
            _EXTRACT, data, limits, name=path.name, source=file.source
        )
    except OverTimeError:
        problem = f"was not read within {limits.seconds:g} seconds"
        return {"skipped": OVER_TIME, "problem": problem}
    except ReaderEndedError as error:
        return {"skipped": DAMAGED, "problem": f"ended its reader ({error})"}
    except AdmiralError as error:
        problem = str(error).removeprefix(f"{path}: ").partition(". ")[0]
        return {"skipped": DAMAGED, "problem": problem}
    return found


def extract(data: bytes, name: str, source: str) -> dict[str, Any]:
    """Return the documents of a file as JSON, or why it has none."""
    try:
        text = text_of(data, name)
    except UnreadableFileError as error:
        return {"skipped": str(error)}
    except DamagedFileError as error:
        return {"skipped": DAMAGED, "problem": str(error)}
    documents = list(_documents(choose_title(text.titles, name), source, text))
    return {
        "documents": documents,
        "skipped": "" if documents else WITHOUT_TEXT,
        "left_out": +text.left_out,
        "notes": list(dict.fromkeys(text.notes)),
    }


_EXTRACT = f"{__name__}:{extract.__name__}"


def _documents(title: str, source: str, text: TextBuilder) -> Iterator[list[Any]]:
    """Yield the fields of the documents with text; a heading that is the title is no section."""
    if sentences := list(text.sentences()):
        sections = (
            s.section[1:]
            if s.section and title in (s.section[0], without_number(s.section[0]))
            else s.section
            for s in sentences
        )
        yield [
            title,
            [sentence.text for sentence in sentences],
            source,
            list(map(SECTION_SEPARATOR.join, sections)),
            [sentence.offset for sentence in sentences],
        ]
    for name, part in text.parts.items():
        escaped = re.sub(r"[%#/\\]", lambda match: f"%{ord(match[0]):02X}", name)
        part_title = title_of_part(part.titles, name, title)
        yield from _documents(part_title, f"{source}#{escaped}", part)


def _document_of(fields: list[Any]) -> Document:
    title, sentences, source, sections, offsets = fields
    return Document(title, tuple(sentences), (), source, tuple(sections), tuple(offsets))
