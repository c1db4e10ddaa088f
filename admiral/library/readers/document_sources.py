"""Read a source from a document, such as a PDF file, as in a folder of documents."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from admiral.errors import AdmiralError, RecordError, first_line
from admiral.io.streams import open_binary
from admiral.kb.corpus.files.document_titles import choose_title
from admiral.kb.corpus.files.extraction import TOO_LONG, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.file_types import FileType, file_type
from admiral.library.canonical_urls import is_web
from admiral.library.readers.web_files import no_url_error
from admiral.library.source_records import Source

logger = logging.getLogger(__name__)

# Headings that say where a text stands.
_PLACE = re.compile(r"(?:page|slide) \d+|sheet .*")


def read_document_file(path: Path, url: str) -> Source | RecordError:
    """Return the source of a document, or the error for one whose URL is unknown.

    A document that cannot be read has an empty text, as a page without an article has; a warning
    says why.
    """
    kind = file_type(path.name)
    if kind is None:
        return RecordError(str(path), "", "the type of the file is not known", "Name it with it")
    if not is_web(url):
        return no_url_error(path)
    with open_binary(path) as file:
        data = file.read(kind.largest + 1)
    text = TextBuilder()
    problem = TOO_LONG if len(data) > kind.largest else _problem(kind, data, text)
    if problem:
        logger.warning("%s: %s; its source has no text", path, problem)
        text = TextBuilder()
    return Source(url, choose_title(text.titles, path.name), "\n".join(_lines(text)))


def _problem(kind: FileType, data: bytes, text: TextBuilder) -> str:
    """Add the text of a document, and return why it cannot be read; "" if it can."""
    try:
        kind.read(data, text)
    except AdmiralError:
        raise
    except UnreadableFileError as error:
        return str(error)
    except Exception as error:  # every parser has its own errors for damaged files
        return f"cannot be read as {kind.name} ({type(error).__name__}: {first_line(error)})"
    return ""


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
