"""The formats of files that are read, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePosixPath
from typing import NamedTuple

from admiral.errors import AdmiralError, first_line
from admiral.io.streams import COMPRESSED_SUFFIXES
from admiral.kb.corpus.files.extraction import (
    DamagedFileError,
    TextBuilder,
    UnreadableFileError,
)

_MIB = 2**20


class FileType(NamedTuple):
    """A format."""

    name: str  # for messages
    # module, function: The reader in this package. Its module is imported when the first such file
    # is read, since most need a parser that other corpora do not.
    module: str
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
_MANUAL = FileType("manual page", "manual_pages", "read_manual_page", 16 * _MIB)
_METADATA = FileType(
    "package metadata", "restructuredtext_files", "read_package_metadata", 8 * _MIB
)
_MARKDOWN = FileType("Markdown", "markdown_files", "read_markdown", 16 * _MIB)
_REST = FileType("reStructuredText", "restructuredtext_files", "read_restructuredtext", 4 * _MIB)
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
_MANUAL_SUFFIX = re.compile(r"\.(?:[1-9n][a-z]{0,6}|man|mdoc)", re.IGNORECASE)
_LIBRARY = re.compile(r"lib.*\.so\.\d+(?:\.\d+)*$")
# Files of software that are plain text although their names have no suffix; install.1 is not.
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
    if name in ("METADATA", "PKG-INFO"):
        return _METADATA
    if _TEXT_NAME.fullmatch(name):
        return _TEXT
    is_manual = _MANUAL_SUFFIX.fullmatch(suffix) and not _LIBRARY.match(name)
    return _MANUAL if is_manual else None


def text_of(data: bytes, name: str) -> TextBuilder:
    """Return the text of a file of a known format.

    Raises UnreadableFileError if it has none that can be read, and DamagedFileError if its reader
    fails.
    """
    kind, text = file_type(name), TextBuilder()
    assert kind is not None
    try:
        kind.read(data, text)
    except (AdmiralError, UnreadableFileError):
        raise
    except Exception as error:  # every parser has its own errors for damaged files
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise DamagedFileError(f"cannot be read as {kind.name} ({reason})") from error
    return text


def uncompressed_name(name: str) -> str:
    """Return a name without the suffix of a compressed file."""
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def manual_name(name: str) -> str | None:
    """Return what `man` calls a page, such as ``mount(8)``; None for other files."""
    path = PurePosixPath(uncompressed_name(name))
    if file_type(name) is not _MANUAL or path.suffix.lower() in (".man", ".mdoc"):
        return None
    return f"{path.stem}({path.suffix[1:]})"


def stem(name: str) -> str:
    """Return the name of a file without the suffixes of its format and its compression."""
    name = uncompressed_name(_file_of_part(name))
    return PurePosixPath(name).stem if file_type(name) not in (None, _METADATA) else name


def part_source(source: str, name: str) -> str:
    """Return the source of a document within a file: its path or URL, and the name of the part."""
    escaped = re.sub(r"[%#/\\]", lambda match: f"%{ord(match[0]):02X}", name)
    return f"{source}#{escaped}"


def _file_of_part(name: str) -> str:
    file, _, part = name.partition("#")
    return file if part and file_type(file) else name
