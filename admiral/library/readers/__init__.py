"""Read sources from files: JSON Lines, WiCE, WAFER, HTML, WARC, text, PDF and other documents."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import COMPRESSED_SUFFIXES, json_objects
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.corpus.file_reports import MESSAGES_SHOWN
from admiral.kb.corpus.files.file_types import file_type
from admiral.kb.corpus.readers.json_records import nested_paragraphs
from admiral.library import Source
from admiral.library.canonical_urls import canonical, is_web, names_source
from admiral.library.readers.web_files import (
    PageReader,
    read_document_file,
    read_html_file,
    read_text_file,
    read_warc_file,
)

_SPHERE_EXAMPLE = '{"url": "https://...", "title": "...", "raw": "a passage"}'

#: A record with the number of its line, or what is wrong with a line.
NumberedLine = tuple[int, dict[str, Any]] | RecordError


def joined_passages(lines: Iterable[NumberedLine], name: str) -> Iterator[NumberedLine]:
    """Yield the pages of which lines of Sphere are passages, as records with `text`.

    Consecutive lines of one URL are one page, whose record has the number of the first. Other
    records stay as they are. `name`: of the file, for messages.
    """
    page: tuple[int, dict[str, Any]] | None = None
    for line in lines:
        passage = None if isinstance(line, RecordError) else _passage(line[1])
        if page is not None and passage is not None and passage["url"] == page[1]["url"]:
            page[1]["text"] += "\n" + passage["text"]
            continue
        if page is not None:
            yield page
            page = None
        if passage is not None:
            assert not isinstance(line, RecordError)  # it has a passage
            page = line[0], passage
        elif not isinstance(line, RecordError) and "raw" in line[1]:
            yield RecordError(
                f"{name}:{line[0]}", "raw", "or url is no text", f"Write {_SPHERE_EXAMPLE}"
            )
        else:
            yield line
    if page is not None:
        yield page


def _passage(record: dict[str, Any]) -> dict[str, Any] | None:
    raw, url = record.get("raw"), record.get("url")
    if not isinstance(raw, str) or not isinstance(url, str):
        return None
    return {"url": url, "title": record.get("title"), "text": raw}


_TEXT_FIELDS = ("text", "sentences", "html")
_METADATA = re.compile(r"\(meta data\) ([A-Z ]+): ?(.*)", re.DOTALL)
_OPTIONAL = ("title", "site", "date", "language", "archive_url")
_EXAMPLE = '{"url": "https://example.org/", "title": "...", "text": "..."}'


def wice_url(record_id: str) -> str:
    """Return the name of the source of a record of WiCE, whose pages have no URLs.

    Sub-claims, with ids such as ``dev01234-2``, share the page of their claim.
    """
    return f"wice:{record_id.partition('-')[0]}"


def read_source_lines(path: Path, reader: PageReader) -> Iterator[Source | RecordError]:
    """Yield the sources of a file, bad records as `RecordError`.

    The passages of a page in WAFER's provenance become one source, in the order of the file, and so
    do the lines of Sphere that are passages of one page.
    """
    wafer: dict[str, list[dict[str, Any]]] = {}
    for item in joined_passages(json_objects(path), str(path)):
        if isinstance(item, RecordError):
            yield item
            continue
        number, record = item
        where = f"{path}:{number}"
        try:
            if "evidence" in record and isinstance(record.get("meta"), dict):
                yield _wice_source(record, where)
            elif "output" in record:
                for passage in _wafer_passages(record, where):
                    wafer.setdefault(canonical(passage["url"]), []).append(passage)
            else:
                yield page_source(record, where, reader)
        except RecordError as error:
            yield error
    for passages in wafer.values():
        yield _wafer_source(passages)


def page_source(record: dict[str, Any], where: str, reader: PageReader) -> Source:
    """Return the source of a page; one of `text`, `sentences` and `html` holds its text.

    Raises RecordError if a field is missing or of another type.
    """
    url = _string(record, "url", where)
    if not names_source(url):
        raise RecordError(
            where, "url", f"{url!r} is not a URL of the web", "Correct it, or use --skip-bad"
        )
    given = [name for name in _TEXT_FIELDS if record.get(name) is not None]
    if len(given) != 1:
        raise RecordError(
            where,
            "text",
            f"one of {', '.join(_TEXT_FIELDS)} is needed, and there are {len(given)}",
            f"Write records such as {_EXAMPLE}",
        )
    metadata = {name: _string(record, name, where, needed=False) for name in _OPTIONAL}
    if given == ["html"]:
        page = reader.page(_string(record, "html", where).encode("utf-8", "replace"), where, url)
        return Source(
            url=url,
            text=page.text,
            **{name: value or getattr(page, name) for name, value in metadata.items()},
        )
    if given == ["sentences"]:
        text = "\n".join(_strings(record, "sentences", where))
    else:
        text = _text(record["text"], where)
    return Source(url=url, text=text, **metadata)


def _text(value: Any, where: str) -> str:
    """Return a text that may be given in parts, with its headings on lines of their own."""
    if isinstance(value, str):
        return value
    lines: list[str] = []
    section: tuple[str, ...] = ()
    for paragraph in nested_paragraphs(value, "text", where):
        if paragraph.section != section:
            section = paragraph.section
            lines += section[-1:]
        lines.append(paragraph.text)
    return "\n".join(lines)


def _wice_source(record: dict[str, Any], where: str) -> Source:
    lines = _strings(record, "evidence", where)
    matches = [_METADATA.fullmatch(line) for line in lines]
    metadata = {match[1]: match[2] for match in matches if match}
    return Source(
        url=wice_url(_string(record["meta"], "id", where)),
        title=metadata.get("TITLE", ""),
        # Headings are marked by #, as in Markdown.
        text="\n".join(
            line.lstrip("#").strip()
            for line, match in zip(lines, matches, strict=True)
            if not match
        ),
        site=metadata.get("PUBLISHER", ""),
        date=metadata.get("PUBLISHED DATETIME", ""),
    )


def _wafer_passages(record: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    for output in record["output"] if isinstance(record["output"], list) else ():
        provenance = output.get("provenance", ()) if isinstance(output, dict) else None
        if not isinstance(provenance, list | tuple):
            raise RecordError(
                where, "output", "is not a list of answers with provenance", "Use WAFER's format"
            )
        for passage in provenance:
            if isinstance(passage, dict) and names_source(_string(passage, "url", where)):
                yield {
                    name: _string(passage, name, where, needed=False)
                    for name in ("url", "title", "text")
                }


def _wafer_source(passages: list[dict[str, Any]]) -> Source:
    texts = dict.fromkeys(passage["text"] for passage in passages)  # in order, each once
    title = next((passage["title"] for passage in passages if passage["title"]), "")
    return Source(passages[0]["url"], title, "\n".join(filter(None, texts)))


def _string(record: dict[str, Any], name: str, where: str, *, needed: bool = True) -> str:
    value = record.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        problem = (
            "is missing" if value is None else f"is of type {type(value).__name__}, not a string"
        )
        raise RecordError(where, name, problem, f"Write records such as {_EXAMPLE}")
    return value


def _strings(record: dict[str, Any], name: str, where: str) -> list[str]:
    value = record.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise RecordError(where, name, "is not a list of strings", "Write a list of sentences")
    return value


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
