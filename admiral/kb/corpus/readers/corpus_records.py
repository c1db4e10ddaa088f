"""Records of corpora, and what all readers share: listing files and checking fields."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from admiral.errors import AdmiralError, RecordError
from admiral.io.sentence_splitter import split_long_sentences
from admiral.io.streams import Place, RemotePath, json_objects
from admiral.io.text_cleaning import LONGEST_TITLE, clean_document, clean_title
from admiral.kb.corpus.files.file_types import file_type
from admiral.records import Document

SKIP_BAD_REMEDY = "Correct it, or skip bad records with --skip-bad."


class Findings(NamedTuple):
    """A reader's report on a file of documents."""

    left_out: Mapping[str, int]  # how many elements with text were left out, by reason
    notes: Sequence[str]  # what it had to assume, or found missing


@dataclass(frozen=True, slots=True)
class Record:
    """A document and the file and line, from 1, that it was read from.

    `split` is the number of its sentences that were too long and have been split. Records of
    corpora have no findings.
    """

    document: Document
    path: Place
    line: int
    split: int = 0
    findings: Findings | None = None

    @property
    def where(self) -> str:
        """Position for messages, such as ``corpus.jsonl:17``."""
        return f"{self.path}:{self.line}"

    def placed(self, file: str) -> Record:
        """Return the record with its file and line in its document, unless that names a source.

        `file` is `source_of` the path of the record.
        """
        if self.document.source:
            return self
        document = replace(self.document, file=file, line=self.line)
        return Record(document, self.path, self.line, self.split, self.findings)


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file of a folder of documents that makes no document, and why, for counting.

    `error` says more of a file that should make one: it is damaged, or not what its name says.
    """

    reason: str
    path: Place
    error: RecordError | None = None
    findings: Findings | None = None


# Bad records are yielded, so that reading can continue after them.
RecordOrError = Record | RecordError
# Turns a JSON object and its position into a document, or None for a record without content.
RecordParser = Callable[[dict[str, Any], str], Document | None]
# Yields the JSON objects of a file with their lines, and errors for what is no object.
ObjectReader = Callable[[Place], Iterator[tuple[int, dict[str, Any]] | RecordError]]


def read_json(
    path: Place, parse: RecordParser, objects: ObjectReader = json_objects
) -> Iterator[RecordOrError]:
    """Read one file of JSON objects, or all data files of a folder sorted by name."""
    for file in data_files(path):
        for item in objects(file):
            if isinstance(item, RecordError):
                yield item
                continue
            line, value = item
            where = f"{file}:{line}"
            try:
                document = parse(value, where)
                if document is not None:
                    yield cleaned_record(document, file, line)
            except RecordError as error:
                yield error


def data_files(path: Place) -> Sequence[Place]:
    """Return the file itself, or the JSON Lines files below a folder, sorted.

    These are all files except hidden ones and documents (``.md``, ``.txt``, ``.pdf`` and others).
    """
    if path.is_file():
        return [path]
    files = [file for file in files_below(path) if file_type(file.name) is None]
    if not files:
        raise AdmiralError(f"{path}: the folder holds no data files. Check the path.")
    return files


def files_below(folder: Place) -> Sequence[Place]:
    """Return all files below `folder` that are not hidden, sorted.

    Symbolic links are followed; a folder with several paths is listed once. Raises AdmiralError if
    a folder cannot be listed or a link is broken, so the corpus would be incomplete.
    """
    if isinstance(folder, RemotePath):
        return folder.files_below()
    try:
        return sorted(_walk(folder))
    except OSError as error:
        raise AdmiralError(
            f"{error.filename}: cannot be read ({error.strerror}), so the corpus {folder} would "
            "be incomplete. Make it readable, or remove the link or the folder."
        ) from error


def _walk(folder: Path) -> Iterator[Path]:
    seen = set()  # a link may lead to a parent folder
    for parent, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
        here = os.stat(parent)
        if (here.st_dev, here.st_ino) in seen:
            folders.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        # Sorted, so that a folder with several paths is always listed by the same one.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            file = Path(parent, name)
            if not name.startswith(".") and stat.S_ISREG(file.stat().st_mode):
                yield file


def _raise(error: OSError) -> NoReturn:
    raise error


def cleaned_record(document: Document, path: Place, line: int, field: str = "title") -> Record:
    """Return a document cleaned for storage, its long sentences split.

    Raises RecordError (Naming `field`, if the title is empty or too long).
    """
    where = f"{path}:{line}"
    cleaned = clean_document(document)
    if not cleaned.title:
        raise RecordError(where, field, "empty", "Every document needs a title. " + SKIP_BAD_REMEDY)
    if len(cleaned.title) > LONGEST_TITLE:
        raise RecordError(
            where,
            field,
            f"{len(cleaned.title)} characters long; at most {LONGEST_TITLE} are allowed",
            SKIP_BAD_REMEDY,
        )
    cleaned, split = split_long_sentences(cleaned)
    return Record(cleaned, path, line, split)


def string_field(value: dict[str, Any], name: str, where: str) -> str:
    """Return a field that must be a string; RecordError otherwise."""
    if name not in value:
        raise RecordError(where, name, "missing", SKIP_BAD_REMEDY)
    if not isinstance(value[name], str):
        raise RecordError(
            where, name, f"{json_kind(value[name])} where a string is needed", SKIP_BAD_REMEDY
        )
    return str(value[name])


def optional_string(value: dict[str, Any], name: str, where: str) -> str:
    """Return a field that must be a string, or null for none; RecordError otherwise."""
    if name in value and value[name] is None:
        return ""
    return string_field(value, name, where)


def id_field(value: dict[str, Any], name: str, where: str) -> str:
    """Return a field that must be a string or a whole number; RecordError otherwise."""
    if type(value.get(name)) is int:
        return str(value[name])
    return string_field(value, name, where)


def string_list(value: Any, name: str, where: str) -> list[str]:
    """Return a value that must be a list of strings; RecordError otherwise."""
    if not isinstance(value, list):
        raise RecordError(
            where, name, f"{json_kind(value)} where a list of strings is needed", SKIP_BAD_REMEDY
        )
    for number, member in enumerate(value):
        if not isinstance(member, str):
            raise RecordError(
                where,
                name,
                f"member {number} is {json_kind(member)}, not a string",
                SKIP_BAD_REMEDY,
            )
    return value


def source_of(file: Place) -> str:
    """Return the absolute path or the URL of a file, with bytes that are no UTF-8 escaped."""
    absolute = os.fsencode(os.path.abspath(str(file))).decode("utf-8", "backslashreplace")
    return absolute if isinstance(file, Path) else str(file)


def same_title(first: str, second: str) -> bool:
    """Return whether two titles are equal after cleaning."""
    return clean_title(first) == clean_title(second)


def json_kind(value: Any) -> str:
    """Return what JSON calls the kind of a value, for messages."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
