"""Read a source from a web page in HTML, of which only the article is kept, or from plain text."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from admiral.errors import RecordError
from admiral.io.streams import open_binary
from admiral.io.text_encodings import decode_page, decode_text
from admiral.kb.corpus.files.extraction import UnreadableFileError
from admiral.library.canonical_urls import is_web
from admiral.library.readers.seen_pages import seen_page
from admiral.library.source_records import Source

# A larger page is data rather than an article.
LONGEST_PAGE = 20 * 2**20  # bytes


def read_html_file(path: Path, url: str) -> Source | RecordError:
    """Return the source of an HTML file, or the error for one that does not name its URL.

    Parameters
    ----------
    path
        The file.
    url
        URL of the page if it does not name it itself (``<link rel="canonical">``); may be empty.
    """
    with open_binary(path) as file:
        page = file.read(LONGEST_PAGE + 1)
    if len(page) > LONGEST_PAGE:
        return RecordError(
            str(path), "", f"is larger than {LONGEST_PAGE >> 20} MiB", "Split it, or leave it out"
        )
    source = html_source(page)
    if not is_web(source.url):
        source = replace(source, url=url)
    return source if is_web(source.url) else no_url_error(path)


def html_source(page: bytes, url: str = "", encoding: str = "") -> Source:
    """Extract the article of a web page with its metadata; its text is empty if there is none.

    Parameters
    ----------
    page
        The page as it was served.
    url
        Its URL; empty to use the one that the page names.
    encoding
        Name of its encoding by the server; empty to use the one that the page names.
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


def read_text_file(path: Path, url: str) -> Source | RecordError:
    """Return the source of a text file, whose first line is its title, or an error."""
    with open_binary(path) as file:
        content = file.read(LONGEST_PAGE + 1)
    if len(content) > LONGEST_PAGE:
        return RecordError(
            str(path), "", f"is larger than {LONGEST_PAGE >> 20} MiB", "Split it, or leave it out"
        )
    if not is_web(url):
        return no_url_error(path)
    try:
        text = decode_text(content).strip()
    except ValueError as error:
        return RecordError(
            str(path), "", str(error), "Convert the file to UTF-8, for example with iconv"
        )
    return Source(url, text.partition("\n")[0].strip(), text)


def no_url_error(path: Path) -> RecordError:
    """Return the error for a file whose URL is unknown."""
    return RecordError(
        str(path), "url", "is unknown", "Give --base-url, the URL of the folder of the file"
    )
