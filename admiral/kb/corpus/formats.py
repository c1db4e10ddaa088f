"""Read corpora in any of the supported formats, and detect the format of a corpus.

A reader turns a file into a stream of records. A bad record is yielded as a RecordError rather than
raised, so that the caller can skip it. To add a format, write a parser of one JSON record in
`json_records`, or a reader of a file, and list it in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import Place, json_objects
from admiral.kb.corpus.document_files import read_document_file
from admiral.kb.corpus.files.file_types import file_type, uncompressed_name
from admiral.kb.corpus.folders import (
    ALL_FILES,
    FilePatterns,
    Others,
    choose_files,
    data_files,
    walk,
)
from admiral.kb.corpus.json_records import (
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
    read_json,
)
from admiral.kb.corpus.records import FileReport, Record

_READERS: dict[str, Callable[[FileReport], Iterator[Record | RecordError]]] = {
    "jsonl": partial(read_json, parse=parse_jsonl),
    "wiki-jsonl": partial(read_json, parse=parse_wiki_jsonl),
    "fever": partial(read_json, parse=parse_fever),
    "hotpotqa": partial(read_json, parse=parse_hotpotqa),
    "feverous": read_feverous,
    "kilt": partial(read_json, parse=parse_kilt),
    "beir": partial(read_json, parse=parse_beir),
    "hipporag": partial(read_json, parse=parse_jsonl, objects=array_objects),
}
FILES = "files"
FORMATS = (*_READERS, FILES)
# Number of records that format detection reads at most.
_DETECTION_RECORDS = 100
_BEIR_CORPUS = "corpus.jsonl"
_DATA_SUFFIXES = ("", ".json", ".jsonl", ".ndjson", ".db", ".sqlite", ".sqlite3")


def read_corpus(path: Place, format: str) -> Iterator[Record | RecordError]:
    """Yield the records of a corpus in one of FORMATS."""
    for file in corpus_files(path, format, ALL_FILES)[0]:
        yield from read_file(new_report(file, format), format)


def new_report(file: Place, format: str) -> FileReport:
    """Return the report of a file that has not been read yet."""
    kind = file_type(file.name)
    return FileReport(file, format if format != FILES else kind.name if kind else "")


def read_file(
    file: FileReport, format: str, limits: FileLimits = DEFAULT_LIMITS, *, strict: bool = False
) -> Iterator[Record | RecordError]:
    """Yield the records of a file; `limits` and `strict` are for files of documents."""
    if format == FILES:
        return read_document_file(file, limits, strict=strict)
    return _READERS[format](file)


def corpus_files(
    path: Place, format: str, patterns: FilePatterns
) -> tuple[Sequence[Place], Others]:
    """Return the files of a corpus in reading order, and what of a folder is not read.

    `patterns` choose files of the format ``files``.
    """
    if format == FILES:
        return choose_files(path, patterns)
    files = [path] if format == "feverous" else data_files(path)
    if format == "beir":  # its folders also hold queries and qrels
        files = [f for f in files if uncompressed_name(f.name) == _BEIR_CORPUS] or files
    return files, []


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
    """
    check_corpus(path)
    if path.is_file():
        return FILES if file_type(path.name) else _data_format(path)
    files = [file for _, file in sorted(walk(path, []), key=lambda pair: len(pair[0]))]
    data = next(filter(_is_data, files), None)
    try:
        return _data_format(data or data_files(path)[0])
    except AdmiralError:
        if any(file_type(file.name) for file in files):
            return FILES
        raise


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
    raise unknown_format_error(file, read, FORMATS)


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
