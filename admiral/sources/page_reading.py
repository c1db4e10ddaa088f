"""Read web pages, of which only the article is kept, web archives, texts and documents as sources.

What a reader does not see is removed first, as in a folder of documents. Parsers run within limits.
What cannot be read has an empty text, as a page without an article has: it is not missing.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from admiral.errors import RecordError
from admiral.io.limited_reading import FileLimits, OverTimeError, ReaderEndedError, read_limited
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
from admiral.kb.corpus.files.file_types import file_type, text_of, uncompressed_name
from admiral.kb.corpus.files.html_files import add_fragment
from admiral.kb.corpus.files.html_parsing import is_layout, is_unseen, parse_html, walk
from admiral.sources import Source
from admiral.sources.canonical_urls import is_web

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

logger = logging.getLogger(__name__)

# Scripts may hold the metadata of the page.
_KEPT = frozenset(("script", "noscript", "head"))
# Stands for a table, which becomes paragraphs once the page is a string again.
_TABLE = re.compile("\ufdd7(\\d+)\ufdd7")


def seen_page(source: str) -> str:
    """Return an HTML page with only the text that its reader sees."""
    tree = parse_html(source.replace("\ufdd7", ""))
    if tree.body is None:
        return source
    tables: list[str] = []
    for node, change in _changes(tree.body):
        if change == "table":
            node.replace_with(f"\ufdd7{len(tables)}\ufdd7")
            text = TextBuilder()
            add_fragment(node.html or "", text)
            rows = (html.escape(sentence.text, quote=False) for sentence in text.sentences())
            tables.append("".join(f"<p>{row}</p>" for row in rows))
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


class PageReader:
    """Reads pages and documents within limits; a warning says why one has no text."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits

    def source(
        self, file: IO[bytes], name: str, where: object, url: str = "", encoding: str = ""
    ) -> Source:
        """Return the source of a page or document.

        `name`: of a file of its type. `where`: for warnings. `url`, `encoding`: of the server.
        """
        kind, limits = file_type(name), self._limits
        assert kind is not None
        largest = limits.largest(kind.largest)
        data = file.read(largest + 1)
        given = {"name": name, "url": url, "encoding": encoding}
        try:
            fields = {"problem": limits.too_large(kind.largest)}
            if len(data) <= largest:
                fields = read_limited(_FIELDS, data, limits, **given)
        except OverTimeError:
            fields["problem"] = f"was not read within {limits.seconds:g} seconds (--file-seconds)"
        except ReaderEndedError as error:
            fields["problem"] = f"ended its reader ({error})"
        if "problem" in fields:
            logger.warning("%s: %s; its source has no text", where, fields["problem"])
            return Source(url, "", "")
        return Source(**{"url": url, **fields})


def source_fields(data: bytes, name: str, url: str, encoding: str) -> dict[str, str]:
    """Return the fields of the source of a page or document, or the ``problem`` that it has."""
    suffix = PurePosixPath(uncompressed_name(name)).suffix.lower()
    try:
        if suffix in (".html", ".htm", ".xhtml"):
            return _article(decode_page(data, encoding), url)
        if suffix == ".txt":
            text = (decode_page(data, encoding) if encoding else decode_text(data)).strip()
            return {"title": text.partition("\n")[0].strip(), "text": text}
        document = text_of(data, name)
    except (UnreadableFileError, DamagedFileError, ValueError) as error:
        return {"problem": str(error)}
    return {"title": choose_title(document.titles, name), "text": "\n".join(_lines(document))}


_FIELDS = f"{__name__}:{source_fields.__name__}"


def _article(page: str, url: str) -> dict[str, str]:
    """Return the article of a web page and its metadata."""
    # Imported here, since it takes long.
    from lxml.etree import LxmlError
    from trafilatura import bare_extraction, baseline
    from trafilatura.settings import Document

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # logs each page without an article
    article = None
    try:
        seen = seen_page(page)
        article = bare_extraction(
            seen,
            url=url or None,
            include_comments=False,
            with_metadata=True,
            # A year of the prose would pass for the date of the page.
            date_extraction_params={"extensive_search": False, "original_date": True},
        )
        text = (article.text if isinstance(article, Document) else "") or baseline(seen)[1]
    except (LxmlError, UnreadableFileError, ValueError, RecursionError):
        text = ""  # not a page that a browser would show either
    fields = {"url": url, "title": "", "text": text}
    if isinstance(article, Document):
        given = {"title": article.title, "site": article.sitename, "date": article.date}
        given |= {"url": url or article.url, "language": article.language}
        fields |= {name: value or "" for name, value in given.items()}
    return fields


# Headings that say where a text stands.
_PLACE = re.compile(r"(?:page|slide) \d+|sheet .*")


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


# What a response is read as.
_NAMES = {
    "text/html": "page.html",
    "application/xhtml+xml": "page.html",
    "text/plain": "page.txt",
    "application/pdf": ".pdf",
}
#: Header of a record with the address from which the page was fetched, if it is a copy of that
#: which the record is about.
COPY_OF = "WARC-Refers-To-Target-URI"
_CHUNK = 1 << 16


def read_archive(path: Path, reader: PageReader) -> Iterator[Source | RecordError]:
    """Yield the pages of a web archive in which a browser would show text.

    If the file is damaged, the pages before come first, and then the error.
    """
    with open_binary(path) as file:
        stream = _WholeBlocks(file)
        archive = ArchiveIterator(stream, no_record_parse=True)
        try:
            for record in archive:
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                record.http_headers = archive.loader.load_http_headers(
                    record.rec_type, url, record.raw_stream, record.length
                )
                source = _archived_source(record, url, reader)
                # warcio takes any end of a stream within a record for the end of the archive.
                while record.raw_stream.read(_CHUNK):
                    pass
                length = record.rec_headers.get_header("Content-Length") or ""
                if not length.strip().isdecimal() or getattr(record.raw_stream, "limit", 0) > 0:
                    raise EOFError(f"it ends within {url}")
                if source is not None:
                    yield source
            if stream.error is not None:
                raise stream.error
        except (ArchiveLoadFailed, *DAMAGED, OSError, ValueError) as error:
            problem = f"damaged, or not a WARC file ({error})"
            yield RecordError(str(path), "", problem, "Fetch it again")
        finally:
            archive.close()


class _WholeBlocks:
    """A stream that ends where the file is damaged, with all bytes before, and keeps the error."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._file.read1(size)) if self.error is None else b""
        except (*DAMAGED, OSError) as error:
            self.error = error
            return b""


def _archived_source(record: Any, url: str, reader: PageReader) -> Source | None:
    headers, http = record.rec_headers, record.http_headers
    header = (http or headers).get_header("Content-Type") or ""
    name = _NAMES.get(header.partition(";")[0].strip().lower())
    is_page = record.rec_type in ("response", "resource", "conversion") and is_web(url)
    if name is None or not is_page or (http is not None and http.get_statuscode() != "200"):
        return None
    if name == ".pdf":  # one without a title is named by its address
        name = unquote(url.partition("?")[0].rstrip("/").rpartition("/")[2])
        name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
    source = reader.source(record.content_stream(), name, url, url, charset_of(header))
    copy = headers.get_header(COPY_OF) or ""
    return replace(
        source,
        date=source.date or (headers.get_header("WARC-Date") or "")[:10],
        archive_url=copy if is_web(copy) else "",
    )
