"""The formats of files that are read, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePosixPath
from typing import NamedTuple

from admiral.errors import AdmiralError, first_line
from admiral.io.streams import COMPRESSED_SUFFIXES
from admiral.kb.corpus.files import DamagedFileError, TextBuilder, UnreadableFileError

_MIB = 2**20


class FileType(NamedTuple):
    """A format."""

    name: str  # for messages
    module: str  # in this package; imported when the first such file is read
    function: str
    largest: int  # size of the largest file that is read, in bytes after decompression
    # What the outermost heading of a section is in such files, such as ``page``, and begins with;
    # empty if it is a heading of the text.
    part: str = ""

    def read(self, data: bytes, text: TextBuilder) -> None:
        """Add the text of a file."""
        module = import_module(f"admiral.kb.corpus.files.{self.module}")
        function: Callable[[bytes, TextBuilder], None] = getattr(module, self.function)
        function(data, text)


_TEXT = FileType("plain text", "plain_text_files", "read_plain_text", 64 * _MIB)
_MARKDOWN = FileType("Markdown", "markdown_files", "read_markdown", 16 * _MIB)
_REST = FileType("reStructuredText", "markdown_files", "read_restructuredtext", 4 * _MIB)
_HTML = FileType("HTML", "html_files", "read_html", 32 * _MIB)
_XLSX = FileType("XLSX", "workbook_files", "read_xlsx", 128 * _MIB, part="sheet")
_PPTX = FileType("PPTX", "slide_files", "read_pptx", 128 * _MIB, part="slide")
_BY_SUFFIX = {
    ".txt": _TEXT,
    ".text": _TEXT,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".rst": _REST,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".pdf": FileType("PDF", "pdf_files", "read_pdf", 128 * _MIB, part="page"),
    ".docx": FileType("DOCX", "word_files", "read_docx", 128 * _MIB),
    ".epub": FileType("EPUB", "epub_files", "read_epub", 128 * _MIB),
    ".ipynb": FileType("notebook", "markdown_files", "read_notebook", 64 * _MIB),
    ".csv": FileType("CSV", "delimited_files", "read_csv", 64 * _MIB),
    ".tsv": FileType("TSV", "delimited_files", "read_tsv", 64 * _MIB),
    ".xlsx": _XLSX,
    ".xlsm": _XLSX,
    ".ods": FileType("ODS", "open_document_files", "read_ods", 128 * _MIB, part="sheet"),
    ".odt": FileType("ODT", "open_document_files", "read_odt", 128 * _MIB),
    ".rtf": FileType("RTF", "rich_text_files", "read_rtf", 128 * _MIB),
    ".pptx": _PPTX,
    ".pptm": _PPTX,
    ".eml": FileType("mail", "mail_files", "read_mail", 64 * _MIB),
}
# Files of software that are plain text although their names have no suffix; install.1 is a manual
# page.
_TEXT_NAME = re.compile(
    r"(?!(?-i:install|history|news)\.\d)"
    r"(?:readme|news|changes|changelog|history|authors|contributors|todo|install|faq|copying|"
    r"licen[cs]e|notice|thanks)(?:[-.](?!py$|json$|ya?ml$)[\w-]*)?",
    re.IGNORECASE,
)


def file_type(name: str) -> FileType | None:
    """Return the format of a file by its name, without a compression suffix; None if unknown."""
    name = uncompressed_name(name)
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    return _TEXT if _TEXT_NAME.fullmatch(name) else None


def text_of(data: bytes, name: str) -> TextBuilder:
    """Return the text of a file of a known format; errors are those of `add_text`."""
    kind, text = file_type(name), TextBuilder()
    assert kind is not None
    add_text(data, kind, text)
    return text


def add_text(data: bytes, kind: FileType, text: TextBuilder) -> None:
    """Add the text of a file."""
    try:
        kind.read(data, text)
    except (AdmiralError, UnreadableFileError):
        raise
    except Exception as error:  # every parser has its own errors for damaged files
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise DamagedFileError(f"cannot be read as {kind.name} ({reason})") from error


def uncompressed_name(name: str) -> str:
    """Return a name without the suffix of a compressed file."""
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def stem(name: str) -> str:
    """Return the name of a file without the suffixes of its format and its compression."""
    name = uncompressed_name(_file_of_part(name))
    return PurePosixPath(name).stem if file_type(name) else name


def _file_of_part(name: str) -> str:
    file, _, part = name.partition("#")
    return file if part and file_type(file) else name
