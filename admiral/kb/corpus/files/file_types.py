"""The formats of files that are read, by their names, and the files of a folder that are read."""

from __future__ import annotations

import re
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from admiral.errors import AdmiralError, first_line
from admiral.io.streams import COMPRESSED_SUFFIXES, Place, RemotePath
from admiral.kb.corpus.files import (
    DamagedFileError,
    TextBuilder,
    UnreadableFileError,
)

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


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
    """Add the text of a file.

    Raises UnreadableFileError if it has none that can be read, and DamagedFileError if its reader
    fails.
    """
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


def part_source(source: str, name: str) -> str:
    """Return the source of a document within a file: its path or URL, and the name of the part."""
    escaped = re.sub(r"[%#/\\]", lambda match: f"%{ord(match[0]):02X}", name)
    return f"{source}#{escaped}"


def _file_of_part(name: str) -> str:
    file, _, part = name.partition("#")
    return file if part and file_type(file) else name


# Folders that programs make; nobody means them by a folder of documents.
JUNK = frozenset(("node_modules", "bower_components", "__pycache__", "__MACOSX", "CVS"))

EXCLUDED = "excluded by --include or --exclude"
UNKNOWN = "not of a known type"
LINKED = "another path of a file that is read"
BROKEN = "cannot be read (broken links, permissions)"
SPECIAL = "no regular file"


class FilePatterns(NamedTuple):
    """Patterns as in ``.gitignore`` for paths below a folder."""

    include: tuple[str, ...] = ()  # if there are any, only files that match one of them are read
    exclude: tuple[str, ...] = ()  # files and folders that are not read


ALL_FILES = FilePatterns()


class ChosenFiles(NamedTuple):
    """Result of a walk."""

    files: Sequence[Place]  # the files to read, sorted by path
    # The files, and the folders that cannot be listed, that are not read, each with the reason.
    others: Sequence[tuple[Place, str]] = ()

    @property
    def skipped(self) -> Counter[str]:
        """Number of files that are skipped, by reason."""
        return Counter(reason for _, reason in self.others)

    @property
    def unknown(self) -> Counter[str]:
        """Number of files of unknown type, by suffix."""
        names = (uncompressed_name(file.name) for file, why in self.others if why == UNKNOWN)
        return Counter(PurePosixPath(name).suffix or "no suffix" for name in names)


def choose_files(path: Place, patterns: FilePatterns) -> ChosenFiles:
    """Choose the files to read below a folder, or the file itself.

    Hidden files and `JUNK` are left out without counting. A file with several paths is read once,
    by a path without symbolic links if it has one, so links in circles do no harm.

    Raises AdmiralError if the folder has no file to read, or a pattern is not valid.
    """
    if path.is_file():
        return ChosenFiles([path])
    include, exclude = _spec(patterns.include), _spec(patterns.exclude)
    files: list[tuple[tuple[str, ...], Place]] = []
    others: list[tuple[Place, str]] = []
    for parts, file in _files(path, others):
        relative = "/".join(parts)
        if (exclude and exclude.match_file(relative)) or (
            include and not include.match_file(relative)
        ):
            others.append((file, EXCLUDED))
        elif file_type(file.name) is None:
            others.append((file, UNKNOWN))
        else:
            files.append((parts, file))
    if not files:
        skipped = dict(ChosenFiles([], others).skipped)
        shown = ", ".join(f"{count} {why}" for why, count in skipped.items())
        counts = f" Skipped: {shown}." if shown else ""
        raise AdmiralError(
            f"{path}: the folder holds no files of a known type, such as .md, .txt, .html or .pdf."
            f"{counts} Check the path, --include and --exclude."
        )
    files.sort(key=lambda pair: pair[0])
    return ChosenFiles([file for _, file in files], others)


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    if not patterns:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise AdmiralError(
            f"--include or --exclude: not a pattern of .gitignore ({error}). Correct it."
        ) from error


def _files(
    folder: Place, others: list[tuple[Place, str]]
) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Yield the files below a folder with the parts of their paths relative to it."""
    if isinstance(folder, RemotePath):
        top = str(folder).rstrip("/") + "/"
        for remote in folder.files_below():
            parts = tuple(str(remote).removeprefix(top).split("/"))
            if JUNK.isdisjoint(parts):
                yield parts, remote
        return
    seen: set[tuple[int, int]] = set()
    waiting, links = [folder], deque[Path]()
    while waiting or links:  # links last, so that a file is read by its own path
        path = waiting.pop() if waiting else links.popleft()
        try:
            status = path.stat()
            members = sorted(path.iterdir()) if stat.S_ISDIR(status.st_mode) else []
        except OSError:
            others.append((path, BROKEN))
            continue
        is_seen = (status.st_dev, status.st_ino) in seen
        seen.add((status.st_dev, status.st_ino))
        if stat.S_ISDIR(status.st_mode):
            for member in () if is_seen else members:
                if not member.name.startswith(".") and member.name not in JUNK:
                    (links if member.is_symlink() else waiting).append(member)
        elif is_seen:
            others.append((path, LINKED))
        elif stat.S_ISREG(status.st_mode):
            yield path.relative_to(folder).parts, path
        else:
            others.append((path, SPECIAL))
