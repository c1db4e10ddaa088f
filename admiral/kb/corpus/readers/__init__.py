"""Read corpora in any of the supported formats, and detect the format of a corpus.

A reader turns a file or a folder into a stream of records. A bad record is yielded as a RecordError
rather than raised, so that the caller can skip it. To add a format, write a module with a parser
for one JSON record or a reader of files, and list it in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.remote import Place
from admiral.io.streams import json_objects
from admiral.kb.corpus.readers.beir import parse_beir
from admiral.kb.corpus.readers.corpus_records import (
    Record,
    RecordOrError,
    data_files,
    files_below,
    read_json,
    text_suffix,
)
from admiral.kb.corpus.readers.fever_pages import parse_fever
from admiral.kb.corpus.readers.feverous_database import MAGIC, read_feverous
from admiral.kb.corpus.readers.hipporag import array_objects, begins_with_array
from admiral.kb.corpus.readers.hotpotqa import parse_hotpotqa
from admiral.kb.corpus.readers.jsonl import parse_jsonl, parse_wiki_jsonl
from admiral.kb.corpus.readers.kilt import parse_kilt
from admiral.kb.corpus.readers.plain_text import read_plain, text_files

__all__ = [
    "FORMATS",
    "WHOLE_FILE_FORMATS",
    "Record",
    "RecordOrError",
    "check_corpus",
    "corpus_files",
    "detect_format",
    "read_corpus",
]

FORMATS: dict[str, Callable[[Place], Iterator[RecordOrError]]] = {
    "jsonl": partial(read_json, parse=parse_jsonl),
    "wiki-jsonl": partial(read_json, parse=parse_wiki_jsonl),
    "fever": partial(read_json, parse=parse_fever),
    "hotpotqa": partial(read_json, parse=parse_hotpotqa),
    "feverous": read_feverous,
    "kilt": partial(read_json, parse=parse_kilt),
    "beir": partial(read_json, parse=parse_beir),
    "hipporag": partial(read_json, parse=parse_jsonl, objects=array_objects),
    "text": read_plain,
}
# Formats of files that cannot be read from any line on.
WHOLE_FILE_FORMATS = ("feverous", "hipporag", "text")
# Number of records that format detection reads at most.
_DETECTION_RECORDS = 100


def read_corpus(path: Place, format: str) -> Iterator[RecordOrError]:
    """Yield the records of a corpus in one of FORMATS."""
    return FORMATS[format](path)


def corpus_files(path: Place, format: str) -> Sequence[Place]:
    """Return the files of a corpus in reading order; each of them can be read as a corpus."""
    if format == "feverous":
        return [path]
    return text_files(path) if format == "text" else data_files(path)


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

    Returns
    -------
    str
        One of FORMATS.

    Raises
    ------
    AdmiralError
        If the path is not a file or a folder, or the format is unknown.
    """
    check_corpus(path)
    if path.is_dir():
        files = files_below(path)
        if files and all(text_suffix(file) for file in files):
            return "text"
    elif text_suffix(path):
        return "text"
    file = data_files(path)[0]
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
    for item in islice(objects, _DETECTION_RECORDS):
        if not isinstance(item, RecordError) and (name := _format_of(item[1], is_array)):
            return name
    raise AdmiralError(
        f"{file}: its first records match no known format. Name the format with --format "
        f"({', '.join(FORMATS)})."
    )


def _format_of(value: dict[str, Any], is_array: bool) -> str | None:
    if is_array:
        return "hipporag" if "title" in value and "text" in value else None
    if "id" in value and "lines" in value:
        return "fever"
    if "wikipedia_title" in value and "text" in value:
        return "kilt"
    if "_id" in value and "text" in value:
        return "beir"
    if "title" in value and isinstance(value.get("text"), list):
        return "hotpotqa"
    if "title" in value and ("sentences" in value or "text" in value):
        return "jsonl"
    return None
