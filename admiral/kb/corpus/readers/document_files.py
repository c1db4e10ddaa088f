"""Read one file as a document, or several, with its path, sections and offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import (
    DEFAULT_LIMITS,
    OVER_TIME,
    FileLimits,
    OverTimeError,
    ReaderEndedError,
    read_limited,
)
from admiral.io.streams import Place, open_binary
from admiral.kb.corpus.files.document_titles import (
    choose_title,
    title_of_part,
    without_number,
)
from admiral.kb.corpus.files.extraction import DamagedFileError, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.file_types import file_type, part_source, text_of
from admiral.kb.corpus.readers.corpus_records import (
    Findings,
    RecordOrError,
    SkippedFile,
    cleaned_record,
    source_of,
)
from admiral.records import SECTION_SEPARATOR, Document

DAMAGED = "damaged, or not what their names say"
LOCKED = "lock files of open documents"
_WITHOUT_TEXT = "without text"
_REMEDY = "Correct it, or leave it out with --exclude."


def read_file(
    file: Place, limits: FileLimits = DEFAULT_LIMITS
) -> Iterator[RecordOrError | SkippedFile]:
    """Yield the document of a file and those within it, or the reason why it has none.

    Documents within a file are the sheets of a workbook and the attachments of a mail. An error is
    yielded for a file of an unknown type, which only its user can have named.
    """
    text = _extracted(file, limits)
    if not isinstance(text, dict):
        yield text
        return
    documents = [_document_of(fields) for fields in text["documents"]]
    findings: Findings | None = Findings(text["left_out"], tuple(text["notes"]))
    if not documents:
        yield SkippedFile(_WITHOUT_TEXT, file, None, findings)
    for document in documents:
        try:
            yield replace(cleaned_record(document, file, 1), findings=findings)
        except RecordError as error:
            yield SkippedFile(DAMAGED, file, error)
        findings = None  # of the file, and so said once


def _extracted(file: Place, limits: FileLimits) -> dict[str, Any] | RecordError | SkippedFile:
    """Return what `extract` makes of a file, or the reason why it has no text."""
    kind = file_type(file.name)
    where = f"{file}:1"
    if kind is None:
        remedy = "Give files such as .md, .txt, .html or .pdf, or name another --format."
        return RecordError(where, "", "the type of the file is not known", remedy)
    if file.name.startswith("~$"):
        return SkippedFile(LOCKED, file)
    largest = limits.largest(kind.largest)
    try:
        with open_binary(file) as stream:
            data = stream.read(largest + 1)
    except AdmiralError as error:
        problem = str(error).removeprefix(f"{file}: ").partition(". ")[0]
        return SkippedFile(DAMAGED, file, RecordError(where, "", problem, _REMEDY))
    if len(data) > largest:
        return SkippedFile(limits.too_large(kind.largest), file)
    if not data:
        return SkippedFile(_WITHOUT_TEXT, file)
    try:
        text = read_limited(_EXTRACT, data, limits, name=file.name, source=source_of(file))
    except OverTimeError:
        problem = f"was not read within {limits.seconds:g} seconds"
        remedy = "Raise --file-seconds, or leave it out with --exclude."
        return SkippedFile(OVER_TIME, file, RecordError(where, "", problem, remedy))
    except ReaderEndedError as error:
        problem = f"ended its reader ({error})"
        return SkippedFile(DAMAGED, file, RecordError(where, "", problem, _REMEDY))
    if "damage" in text:
        return SkippedFile(DAMAGED, file, RecordError(where, "", text["damage"], _REMEDY))
    return SkippedFile(text["skipped"], file) if "skipped" in text else text


def extract(data: bytes, name: str, source: str) -> dict[str, Any]:
    """Return the documents of a file as JSON, or ``skipped`` or ``damage``, which say why not."""
    try:
        text = text_of(data, name)
    except UnreadableFileError as error:
        return {"skipped": str(error)}
    except DamagedFileError as error:
        return {"damage": str(error)}
    documents = _documents(choose_title(text.titles, name), source, text)
    return {
        "documents": [_fields(document) for document in documents],
        "left_out": +text.left_out,
        "notes": list(dict.fromkeys(text.notes)),
    }


_EXTRACT = f"{__name__}:{extract.__name__}"


def _fields(document: Document) -> list[Any]:
    return [
        document.title,
        document.sentences,
        document.source,
        document.sections,
        document.offsets,
    ]


def _document_of(fields: list[Any]) -> Document:
    title, sentences, source, sections, offsets = fields
    return Document(
        title,
        tuple(sentences),
        source=source,
        sections=tuple(sections),
        offsets=tuple(offsets),
    )


def _documents(title: str, source: str, text: TextBuilder) -> Iterator[Document]:
    """Yield the documents with text: that of a file, and those within it."""
    document = _document(title, source, text)
    if document.sentences:
        yield document
    for name, part in text.parts.items():
        part_title = title_of_part(part.titles, name, title)
        yield from _documents(part_title, part_source(source, name), part)


def _document(title: str, source: str, text: TextBuilder) -> Document:
    """Return the document; the heading that became its title is left out of the sections."""
    sentences = list(text.sentences())
    sections = (
        s.section[1:]
        if s.section and title in (s.section[0], without_number(s.section[0]))
        else s.section
        for s in sentences
    )
    return Document(
        title,
        tuple(sentence.text for sentence in sentences),
        source=source,
        sections=tuple(SECTION_SEPARATOR.join(section) for section in sections),
        offsets=tuple(sentence.offset for sentence in sentences),
    )
