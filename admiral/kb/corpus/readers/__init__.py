"""Read corpora in any of the supported formats, and detect the format of a corpus.

A reader turns a file or a folder into a stream of records. A bad record is yielded as a RecordError
rather than raised, so that the caller can skip it. To add a format, write a parser of one
JSON record in `json_records`, or a module with a reader of files, and list it in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath
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
from admiral.io.streams import Place, RemotePath, json_objects, open_binary
from admiral.kb.corpus.files import DamagedFileError, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.document_titles import (
    choose_title,
    title_of_part,
    without_number,
)
from admiral.kb.corpus.files.file_types import (
    ALL_FILES,
    JUNK,
    ChosenFiles,
    FilePatterns,
    choose_files,
    file_type,
    part_source,
    text_of,
    uncompressed_name,
)
from admiral.kb.corpus.readers.corpus_records import (
    Findings,
    Record,
    RecordOrError,
    SkippedFile,
    cleaned_record,
    data_files,
    files_below,
    read_json,
    source_of,
)
from admiral.kb.corpus.readers.json_records import (
    CONTENT_FIELDS,
    MAGIC,
    array_objects,
    begins_with_array,
    parse_beir,
    parse_fever,
    parse_hotpotqa,
    parse_jsonl,
    parse_kilt,
    parse_wiki_jsonl,
    read_feverous,
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


__all__ = [
    "ALL_FILES",
    "FORMATS",
    "ChosenFiles",
    "FilePatterns",
    "Record",
    "RecordOrError",
    "SkippedFile",
    "check_corpus",
    "corpus_files",
    "detect_format",
    "read_corpus",
    "read_corpus_file",
]


def _read_files(path: Place) -> Iterator[RecordOrError]:
    """Yield the records of each file that people write below a folder, or for the file itself."""
    for item in chain.from_iterable(map(read_file, choose_files(path, ALL_FILES).files)):
        if not isinstance(item, SkippedFile):
            yield item


FORMATS: dict[str, Callable[[Place], Iterator[RecordOrError]]] = {
    "jsonl": partial(read_json, parse=parse_jsonl),
    "wiki-jsonl": partial(read_json, parse=parse_wiki_jsonl),
    "fever": partial(read_json, parse=parse_fever),
    "hotpotqa": partial(read_json, parse=parse_hotpotqa),
    "feverous": read_feverous,
    "kilt": partial(read_json, parse=parse_kilt),
    "beir": partial(read_json, parse=parse_beir),
    "hipporag": partial(read_json, parse=parse_jsonl, objects=array_objects),
    "files": _read_files,
}
# Number of records that format detection reads at most.
_DETECTION_RECORDS = 100
_BEIR_CORPUS = "corpus.jsonl"
_DATA_SUFFIXES = ("", ".json", ".jsonl", ".ndjson", ".db", ".sqlite", ".sqlite3")


def read_corpus(path: Place, format: str) -> Iterator[RecordOrError]:
    """Yield the records of a corpus in one of FORMATS."""
    return FORMATS[format](path)


def read_corpus_file(
    file: Place, format: str, limits: FileLimits = DEFAULT_LIMITS
) -> Iterator[RecordOrError | SkippedFile]:
    """Yield the records of one of the files that `corpus_files` returns.

    `limits` are those of files of documents.
    """
    return read_file(file, limits) if format == "files" else read_corpus(file, format)


def corpus_files(path: Place, format: str, patterns: FilePatterns) -> ChosenFiles:
    """Return the files of a corpus in reading order; each of them can be read as a corpus.

    `patterns` choose files of the format ``files``.
    """
    if format == "files":
        return choose_files(path, patterns)
    files = [path] if format == "feverous" else data_files(path)
    if format == "beir":  # its folders also hold queries and qrels
        files = [f for f in files if uncompressed_name(f.name) == _BEIR_CORPUS] or files
    return ChosenFiles(files)


def check_corpus(path: Place) -> None:
    """Raise `AdmiralError` unless a path is a regular file or a folder."""
    if not path.exists():
        raise AdmiralError(f"{path}: no such file or folder. Check the path of the corpus.")
    if not path.is_file() and not path.is_dir():
        raise AdmiralError(
            f"{path}: neither a file nor a folder. A corpus is read more than once, which a pipe "
            "or a device cannot be: write it to a file first."
        )


def detect_format(path: Place) -> str:
    """Detect the format of a corpus from its file names and first records.

    A folder holds documents (``files``), unless its first data file is a corpus of another format.
    Raises AdmiralError if the path is not a file or a folder, or the format is unknown.
    """
    check_corpus(path)
    if path.is_file():
        return "files" if file_type(path.name) else _data_format(path)
    files = [file for file in _visible_files(path) if _is_data(file)]
    try:
        return _data_format(files[0] if files else data_files(path)[0])
    except AdmiralError:
        if any(file_type(file.name) for file in _visible_files(path)):
            return "files"
        raise


def _visible_files(folder: Place) -> Iterator[Place]:
    """Yield the files below a folder that a detection looks at, sorted, of linked folders none.

    Pipes and devices are none, since reading them might never end.
    """
    if isinstance(folder, RemotePath):
        yield from files_below(folder)
        return
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in JUNK)
        files = (Path(parent, name) for name in sorted(names) if not name.startswith("."))
        yield from filter(Path.is_file, files)


def _is_data(file: Place) -> bool:
    """Return whether a file may be a corpus by its name, which often has no suffix."""
    name = uncompressed_name(file.name)
    return PurePosixPath(name).suffix.lower() in _DATA_SUFFIXES and file_type(name) is None


def _data_format(file: Place) -> str:
    """Return the format of a file by its first records; AdmiralError if it is unknown."""
    try:
        with file.open("rb") as stream:
            if stream.read(len(MAGIC)) == MAGIC:
                return "feverous"
    except OSError as error:
        raise AdmiralError(
            f"{file}: cannot be read ({error.strerror}). Check its permissions."
        ) from error
    is_array = begins_with_array(file)
    objects = array_objects(file) if is_array else json_objects(file)
    read = []
    for item in islice(objects, _DETECTION_RECORDS):
        if not isinstance(item, RecordError) and (name := _format_of(item[1], is_array)):
            return name
        read.append(item)
    raise unknown_format_error(file, read, tuple(FORMATS))


def _format_of(value: dict[str, Any], is_array: bool) -> str | None:
    if is_array:
        return "hipporag" if "title" in value and "text" in value else None
    if "id" in value and "lines" in value:
        return "fever"
    if "wikipedia_title" in value and "text" in value:
        return "kilt"
    if "_id" in value and "text" in value:
        return "beir"
    if "title" in value and isinstance(value.get("text"), list) and _is_flat(value["text"]):
        return "hotpotqa"
    if "title" in value and any(field in value for field in CONTENT_FIELDS):
        return "jsonl"
    return None


def _is_flat(text: list[Any]) -> bool:
    """Return whether a text is sentences or paragraphs of sentences, without sections."""
    members = (each for part in text for each in (part if isinstance(part, list) else [part]))
    return not any(isinstance(member, dict) for member in members)


_MAX_FIELDS = 8
_TEXT_FIELDS = ("text", "sentences")


def unknown_format_error(
    file: Place, records: Iterable[tuple[int, dict[str, Any]] | RecordError], formats: Sequence[str]
) -> AdmiralError:
    """Return the error for a file whose first records match no format: it names the cause."""
    unknown = f"{file}: its first records match no known format"
    remedy = f"Name the format with --format ({', '.join(formats)})."
    errors = []
    for item in records:
        if isinstance(item, RecordError):
            errors.append(item)
            continue
        number, record = item
        if "title" in record and not any(field in record for field in _TEXT_FIELDS):
            cause = f"that of line {number} has a title, but neither {' nor '.join(_TEXT_FIELDS)}"
        else:
            fields = ", ".join(map(repr, list(record)[:_MAX_FIELDS])) or "none"
            cause = f"the fields of line {number} are {fields}"
        return AdmiralError(f"{unknown}: {cause}. {remedy}")
    if errors:
        first = errors[0]
        return RecordError(first.where, first.field, first.problem, first.remedy)
    return AdmiralError(f"{file}: is empty. Give a file with a document on each line.")
