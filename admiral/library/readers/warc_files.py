"""Read the pages of a web archive: responses of a WARC file, or the texts of a WET file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from admiral.errors import RecordError
from admiral.io.streams import DAMAGED, open_binary
from admiral.io.text_cleaning import charset_of, decode_page
from admiral.library.canonical_urls import is_web
from admiral.library.readers.web_files import PageReader, document_source
from admiral.library.source_records import Source

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
