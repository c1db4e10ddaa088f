"""Read sources from web pages, of which only the article is kept, from archives and documents.

What a reader does not see is removed first. Raised numbers are written on the line (``10^6``), and
rows of tables become sentences, as in a folder of documents. An
archive holds responses in WARC files, or their texts in WET files.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from admiral.errors import RecordError
from admiral.io.limited_reading import (
    DEFAULT_LIMITS,
    FileLimits,
    OverTimeError,
    ReaderEndedError,
    read_limited,
)
from admiral.io.streams import DAMAGED, open_binary
from admiral.io.text_cleaning import charset_of, decode_page, decode_text
from admiral.kb.corpus.files import (
    SCRIPT_MARKS,
    DamagedFileError,
    TextBuilder,
    UnreadableFileError,
    on_one_line,
)
from admiral.kb.corpus.files.document_titles import choose_title
from admiral.kb.corpus.files.file_types import file_type, text_of
from admiral.kb.corpus.files.html_files import add_fragment
from admiral.kb.corpus.files.html_parsing import is_layout, is_unseen, parse_html, walk
from admiral.library import Source
from admiral.library.canonical_urls import is_web

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


logger = logging.getLogger(__name__)

# Scripts may hold the metadata of the page.
_KEPT = frozenset(("script", "noscript", "head"))
# Stands for a table, which becomes paragraphs once the page is a string again.
_TABLE = re.compile("\ufdd7(\\d+)\ufdd7")


def seen_page(source: str) -> str:
    """Return an HTML page with only the text that its reader sees.

    Raises UnreadableFileError if elements are nested too deeply.
    """
    tree = parse_html(source.replace("\ufdd7", ""))
    if tree.body is None:
        return source
    tables: list[str] = []
    for node, change in _changes(tree.body):
        if change == "table":
            node.replace_with(f"\ufdd7{len(tables)}\ufdd7")
            tables.append(_paragraphs(node.html or ""))
        elif change in SCRIPT_MARKS:
            before, after = SCRIPT_MARKS[change]
            node.insert_before(before)
            node.insert_after(after)
            node.unwrap()
        else:
            node.decompose()
    page = on_one_line(tree.html or "")
    return _TABLE.sub(lambda match: tables[int(match[1])], page)


def _changes(body: LexborNode) -> list[tuple[LexborNode, str]]:
    """Return what to change below a node: tables, raised and lowered text, and what is unseen."""
    found: list[tuple[LexborNode, str]] = []

    def enter(node: LexborNode) -> bool:
        tag = node.tag or "-"
        if tag[0] in "-!" or tag in _KEPT:
            return False
        attributes = node.attributes
        if is_unseen(node, tag, attributes):
            found.append((node, "unseen"))
            return False
        is_table = tag == "table" and not is_layout(node, attributes.get("role"))
        if is_table or tag in SCRIPT_MARKS:
            found.append((node, tag))
        return not is_table

    walk(body, enter, lambda *_: None)
    return found


def _paragraphs(table: str) -> str:
    text = TextBuilder()
    add_fragment(table, text)
    return "".join(f"<p>{html.escape(s.text, quote=False)}</p>" for s in text.sentences())


# A larger page is data rather than an article.
LONGEST_PAGE = 20 * 2**20  # bytes


class PageReader:
    """Reads pages and documents within limits.

    Attributes
    ----------
    over
        Number of those so far that took too long, or ended their reader; they have no text.
    """

    def __init__(self, limits: FileLimits = DEFAULT_LIMITS) -> None:
        self.limits, self.over = limits, 0

    def read(self, function: str, data: bytes, where: object, **arguments: str) -> Any | None:
        """Return what `read_limited` returns, or None if the file is over the limits."""
        try:
            return read_limited(function, data, self.limits, **arguments)
        except OverTimeError:
            problem = f"was not read within {self.limits.seconds:g} seconds (--file-seconds)"
        except ReaderEndedError as error:
            problem = f"ended its reader ({error})"
        self.over += 1
        logger.warning("%s: %s; its source has no text", where, problem)
        return None

    def page(self, page: bytes, where: object, url: str = "", encoding: str = "") -> Source:
        """Return `html_source` of a page; without text if it is over the limits."""
        fields = self.read(_PAGE_RECORD, page, where, url=url, encoding=encoding)
        return Source(url, "", "") if fields is None else Source(**fields)

    def bounded(self, file: IO[bytes]) -> bytes | None:
        """Return the content of a file of a page, or None if it is too large."""
        largest = self.limits.largest(LONGEST_PAGE)
        content = file.read(largest + 1)
        return content if len(content) <= largest else None

    def too_large(self, path: object, what: str = "") -> RecordError:
        """Return the error for a page that is too large."""
        size = self.limits.largest(LONGEST_PAGE) >> 20
        if size < LONGEST_PAGE >> 20:
            remedy = "Raise --file-megabytes, or use --skip-bad"
        else:
            remedy = "Split it, leave it out, or use --skip-bad"
        return RecordError(str(path), "", f"{what}is larger than {size} MiB", remedy)


def html_record(page: bytes, url: str, encoding: str) -> dict[str, str]:
    """Return `html_source` as JSON."""
    return asdict(html_source(page, url, encoding))


_PAGE_RECORD = f"{__name__}:{html_record.__name__}"


def read_html_file(path: Path, url: str, reader: PageReader) -> Source | RecordError:
    """Return the source of an HTML file, or the error for one that is too large.

    `url` is that of a page that does not name its own (``<link rel="canonical">``).
    """
    with open_binary(path) as file:
        page = reader.bounded(file)
    if page is None:
        return reader.too_large(path)
    source = reader.page(page, path)
    return source if is_web(source.url) else replace(source, url=url)


def html_source(page: bytes, url: str = "", encoding: str = "") -> Source:
    """Extract the article of a web page with its metadata; its text is empty if there is none.

    `url`: its URL; empty to use the one that the page names. `encoding`: name of its encoding by
    the server; empty to use the one that the page names.
    """
    # Imported here, since it takes long.
    from lxml.etree import LxmlError
    from trafilatura import bare_extraction, baseline
    from trafilatura.settings import Document

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # logs each page without an article
    article = None
    try:
        seen = seen_page(decode_page(page, encoding))
        article = bare_extraction(seen, url=url or None, include_comments=False, with_metadata=True)
        text = (article.text if isinstance(article, Document) else "") or baseline(seen)[1]
    except (LxmlError, UnreadableFileError, ValueError, RecursionError):
        text = ""  # not a page that a browser would show either
    if not isinstance(article, Document):
        return Source(url, "", text)
    return Source(
        url=url or article.url or "",
        title=article.title or "",
        text=text,
        site=article.sitename or "",
        date=article.date or "",
        language=article.language or "",
    )


def read_text_file(path: Path, url: str, reader: PageReader) -> Source | RecordError:
    """Return the source of a text file, whose first line is its title, or an error."""
    with open_binary(path) as file:
        content = reader.bounded(file)
    if content is None:
        return reader.too_large(path)
    try:
        text = decode_text(content).strip()
    except ValueError as error:
        return RecordError(
            str(path), "", str(error), "Convert the file to UTF-8, for example with iconv"
        )
    return Source(url, text.partition("\n")[0].strip(), text)


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


_CHUNK = 1 << 16
_HTML = ("text/html", "application/xhtml+xml")
_PDF = "application/pdf"
#: Header of a record with the address from which the page was fetched, if it is a copy of that
#: which the record is about.
COPY_OF = "WARC-Refers-To-Target-URI"


def read_warc_file(path: Path, reader: PageReader) -> Iterator[Source | RecordError]:
    """Yield the pages of an archive in which a browser would show text.

    If the file is damaged, the pages before come first, and then the error.
    """
    with open_binary(path) as file:
        stream = _WholeBlocks(file)
        archive = ArchiveIterator(stream, no_record_parse=True)
        try:
            while (record := _next_record(archive)) is not None:
                if record.rec_type in ("response", "resource", "conversion"):
                    yield from _sources(path, record, reader)
                _read_to_end(record)
            if stream.error is not None:
                raise stream.error
        except (ArchiveLoadFailed, *DAMAGED, OSError, ValueError) as error:
            yield RecordError(
                str(path), "", f"damaged, or not a WARC file ({error})", "Fetch it again"
            )
        finally:
            archive.close()


class _WholeBlocks:
    """A stream that ends where the file is damaged, with all bytes before, and keeps the error.

    warcio takes any end of a stream within a record for the end of the archive.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._file.read1(size)) if self.error is None else b""
        except (*DAMAGED, OSError) as error:
            self.error = error
            return b""


def _next_record(archive: ArchiveIterator) -> Any | None:
    record = next(archive, None)
    if record is not None:
        uri = record.rec_headers.get_header("WARC-Target-URI") or ""
        try:
            record.http_headers = archive.loader.load_http_headers(
                record.rec_type, uri, record.raw_stream, record.length
            )
        except EOFError:
            raise EOFError(f"it ends within {uri}") from None
    return record


def _read_to_end(record: Any) -> None:
    """Raise `EOFError` if the file ends within a record."""
    while record.raw_stream.read(_CHUNK):
        pass
    length = record.rec_headers.get_header("Content-Length") or ""
    if not length.strip().isdecimal() or getattr(record.raw_stream, "limit", 0) > 0:
        raise EOFError(f"it ends within {record.rec_headers.get_header('WARC-Target-URI')}")


def _sources(path: Path, record: Any, reader: PageReader) -> Iterator[Source | RecordError]:
    headers = record.rec_headers
    http = record.http_headers
    url = headers.get_header("WARC-Target-URI") or ""
    if not is_web(url) or (http is not None and http.get_statuscode() != "200"):
        return
    served = http or headers
    header = served.get_header("Content-Type") or ""
    content_type = header.partition(";")[0].strip().lower()
    if content_type not in (*_HTML, "text/plain", _PDF):
        return
    copy = headers.get_header(COPY_OF) or ""
    archive_url = copy if is_web(copy) else ""
    date = (headers.get_header("WARC-Date") or "")[:10]
    if content_type == _PDF:
        source = document_source(record.content_stream(), _name_of(url), url, url, reader)
        _read_to_end(record)
        yield replace(source, date=date, archive_url=archive_url)
        return
    content = reader.bounded(record.content_stream())
    if content is None:
        yield reader.too_large(path, f"{url} ")
        return
    _read_to_end(record)
    if content_type in _HTML:
        page = reader.page(content, url, url, charset_of(header))
        source = Source(url, page.title, page.text, page.site, page.date or date, page.language)
    else:
        text = decode_page(content, charset_of(header)).strip()
        source = Source(url, text.partition("\n")[0].strip(), text, date=date)
    yield replace(source, archive_url=archive_url)


def _name_of(url: str) -> str:
    """Return a name of a PDF file for one that has no title."""
    name = unquote(url.partition("?")[0].rstrip("/").rpartition("/")[2])
    return name if name.lower().endswith(".pdf") else f"{name}.pdf"
