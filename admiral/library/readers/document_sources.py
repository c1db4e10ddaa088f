"""Read a source from a document: PDF, DOCX and the other types of a folder of documents."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import IO

from admiral.errors import RecordError
from admiral.io.streams import open_binary
from admiral.kb.corpus.files.document_titles import choose_title
from admiral.kb.corpus.files.extraction import DamagedFileError, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.file_types import file_type, text_of
from admiral.library.readers.web_files import PageReader
from admiral.library.source_records import Source

logger = logging.getLogger(__name__)

# Headings that say where a text stands.
_PLACE = re.compile(r"(?:page|slide) \d+|sheet .*")


def read_document_file(path: Path, url: str, reader: PageReader) -> Source | RecordError:
    """Return the source of a document, or the error for one of an unknown type.

    A document that cannot be read has an empty text, as a page without an article has; a warning
    says why.
    """
    kind = file_type(path.name)
    if kind is None:
        return RecordError(str(path), "", "the type of the file is not known", "Name it with it")
    with open_binary(path) as file:
        return document_source(file, path.name, url, path, reader)


def document_source(
    file: IO[bytes], name: str, url: str, where: object, reader: PageReader
) -> Source:
    """Return the source of a document, whose text is empty if it cannot be read.

    `name`: name of a file of its type. `where`: what a warning calls it.
    """
    kind = file_type(name)
    assert kind is not None
    largest = reader.limits.largest(kind.largest)
    data = file.read(largest + 1)
    read: dict[str, str] | None = {"problem": reader.limits.too_large(kind.largest)}
    if len(data) <= largest:
        read = reader.read(_DOCUMENT_RECORD, data, where, name=name)
    if read is not None and "problem" in read:
        logger.warning("%s: %s; its source has no text", where, read["problem"])
        read = None
    if read is None:
        read = {"title": choose_title([], name), "text": ""}
    return Source(url, read["title"], read["text"])


def document_record(data: bytes, name: str) -> dict[str, str]:
    """Return the title and the text of a document, or the problem that it has."""
    try:
        text = text_of(data, name)
    except (UnreadableFileError, DamagedFileError) as error:
        return {"problem": str(error)}
    return {"title": choose_title(text.titles, name), "text": "\n".join(_lines(text))}


_DOCUMENT_RECORD = f"{__name__}:{document_record.__name__}"


def _lines(text: TextBuilder) -> Iterator[str]:
    """Yield the headings and the paragraphs of a document, also of the sheets of a workbook."""
    before: tuple[str, ...] = ()
    for block in text.paragraphs():
        pairs = zip(before, block.section, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        yield from (name for name in block.section[shared:] if not _PLACE.fullmatch(name))
        yield block.text
        before = block.section
    for name, part in text.parts.items():
        yield name
        yield from _lines(part)
