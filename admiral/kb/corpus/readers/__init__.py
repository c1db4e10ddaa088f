"""Readers of corpora: each turns a file or a folder into a stream of documents with places.

A bad record comes out of the stream as a RecordError value, so that the caller may raise it or
count it and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.remote import Place
from admiral.io.streams import json_objects
from admiral.kb.corpus.readers.base import (
    Item,
    Record,
    data_files,
    files_below,
    read_json,
    text_suffix,
)
from admiral.kb.corpus.readers.fever_pages import parse_fever
from admiral.kb.corpus.readers.feverous_database import MAGIC, read_feverous
from admiral.kb.corpus.readers.hotpotqa import parse_hotpotqa
from admiral.kb.corpus.readers.jsonl import parse_beir, parse_jsonl, parse_wiki_jsonl
from admiral.kb.corpus.readers.kilt import parse_kilt
from admiral.kb.corpus.readers.plain_text import read_plain, text_files

__all__ = [
    "FORMATS",
    "Item",
    "Record",
    "check_corpus",
    "corpus_files",
    "detect_format",
    "read_corpus",
]

FORMATS: dict[str, Callable[[Place], Iterator[Item]]] = {
    "jsonl": partial(read_json, parse=parse_jsonl),
    "wiki-jsonl": partial(read_json, parse=parse_wiki_jsonl),
    "fever": partial(read_json, parse=parse_fever),
    "hotpotqa": partial(read_json, parse=parse_hotpotqa),
    "feverous": read_feverous,
    "kilt": partial(read_json, parse=parse_kilt),
    "beir": partial(read_json, parse=parse_beir),
    "text": read_plain,
}
# Records looked at before the format is given up as unknown.
_PEEK = 100


def read_corpus(path: Place, format: str) -> Iterator[Item]:
    """Stream the documents of a corpus in one of FORMATS."""
    return FORMATS[format](path)


def corpus_files(path: Place, format: str) -> Sequence[Place]:
    """Return the files of a corpus in the order in which they are read; each is a corpus, too."""
    if format == "feverous":
        return [path]
    return text_files(path) if format == "text" else data_files(path)


def check_corpus(path: Place) -> None:
    """Raise AdmiralError unless a path is a file or a folder, which can be read more than once."""
    if not path.exists():
        raise AdmiralError(f"{path}: no such file or folder. Check the path of the corpus.")
    if not path.is_file() and not path.is_dir():
        raise AdmiralError(
            f"{path}: neither a file nor a folder. A corpus is read more than once, which a pipe "
            "or a device cannot be: write it to a file first."
        )


def detect_format(path: Place) -> str:
    """Tell the format of a corpus from its names and first records.

    Raises
    ------
    AdmiralError
        If the path is no file or folder, or its format cannot be told.
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
    for item in islice(json_objects(file), _PEEK):
        if not isinstance(item, RecordError) and (name := _format_of(item[1])):
            return name
    raise AdmiralError(
        f"{file}: the format cannot be told from its first records. Name it with --format "
        f"({', '.join(FORMATS)})."
    )


def _format_of(value: dict[str, Any]) -> str | None:
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
