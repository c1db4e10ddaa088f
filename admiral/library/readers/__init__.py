"""Read sources from files: JSON Lines, WiCE, WAFER, HTML, WARC, text, PDF and other documents."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import COMPRESSED_SUFFIXES
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.corpus.file_reports import MESSAGES_SHOWN
from admiral.kb.corpus.files.file_types import file_type
from admiral.library import Source
from admiral.library.canonical_urls import is_web
from admiral.library.readers.source_lines import read_source_lines
from admiral.library.readers.web_files import (
    PageReader,
    read_document_file,
    read_html_file,
    read_text_file,
    read_warc_file,
)

logger = logging.getLogger(__name__)

FORMATS = ("jsonl", "html", "warc", "text", "document")
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".warc": "warc",
    ".wet": "warc",
    ".txt": "text",
}
_READERS = {"html": read_html_file, "text": read_text_file, "document": read_document_file}


class SourceFiles:
    """Sources of one or more files or folders, read in order.

    Parameters
    ----------
    paths
        Files or folders; of folders, all files of a known type are read.
    format
        One of `FORMATS` for all files, or ``auto`` to go by their suffixes. Lines of JSON may be
        pages, or records of WiCE or WAFER, which are told apart by their fields.
    base_url
        URL of the folder, for files that do not name their own, as HTML may. A file given by
        itself lies in its folder. Without it, such files are named by their paths.
    skip_bad
        Whether to count and report bad records instead of raising an error for the first.
    limits
        Limits of time and size of each page and document.

    Attributes
    ----------
    bad
        Number of bad records skipped so far.

    Raises
    ------
    AdmiralError
        If a path does not exist or its format is unknown.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        format: str = "auto",
        base_url: str = "",
        skip_bad: bool = False,
        limits: FileLimits = DEFAULT_LIMITS,
    ) -> None:
        check_choice("format", format, ("auto", *FORMATS))
        if base_url and not is_web(base_url):
            raise AdmiralError(f"base_url={base_url!r}: not a URL of the web. Correct it")
        self.bad = 0
        self._base_url, self._skip_bad = base_url, skip_bad
        self._reader = PageReader(limits)
        self._files = [file for path in paths for file in _files(Path(path), format)]
        if not self._files:
            given = ", ".join(map(str, paths)) or "no path"
            raise AdmiralError(
                f"{given}: no file to read. Name files of a known type ({', '.join(_SUFFIXES)}, "
                ".pdf, .docx...), or give --format"
            )

    @property
    def over_limits(self) -> int:
        """Number of pages and documents so far that took too long, and so have no text."""
        return self._reader.over

    def __iter__(self) -> Iterator[Source]:
        unnamed = 0
        for item in self._items():
            if isinstance(item, Source):
                unnamed += item.is_file
                yield item
            elif not self._skip_bad:
                raise item
            else:
                self.bad += 1
                if self.bad <= MESSAGES_SHOWN:
                    logger.warning("skipped: %s", item)
        if unnamed:
            logger.warning(
                "%d files state no URL, and are named by their paths. Give --base-url, the URL of "
                "their folder, if it has one",
                unnamed,
            )

    def _items(self) -> Iterator[Source | RecordError]:
        for path, root, format in self._files:
            if format == "jsonl":
                yield from read_source_lines(path, self._reader)
            elif format == "warc":
                yield from read_warc_file(path, self._reader)
            else:
                try:
                    yield _READERS[format](path, self._url(path, root), self._reader)
                except AdmiralError as error:  # of the file; the others can be read
                    yield RecordError(str(path), "", str(error).removeprefix(f"{path}: "), "")

    def _url(self, path: Path, root: Path) -> str:
        if not self._base_url:
            return str(path.absolute())
        return f"{self._base_url.rstrip('/')}/{path.relative_to(root).as_posix()}"


def _files(path: Path, format: str) -> Iterator[tuple[Path, Path, str]]:
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            known = _format_of(file)
            if file.is_file() and known and format in ("auto", known):
                yield file, path, known
        return
    if not path.exists():
        raise AdmiralError(f"{path}: no such file. Check the path")
    known = _format_of(path) if format == "auto" else format
    if not known:
        raise AdmiralError(f"{path}: of an unknown format. Give --format {'|'.join(FORMATS)}")
    yield path, path.parent, known


def _format_of(path: Path) -> str:
    """Return the format of a file by its name, without a suffix of compression; "" if unknown."""
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSED_SUFFIXES else path.suffix
    return _SUFFIXES.get(suffix.lower(), "document" if file_type(path.name) else "")
