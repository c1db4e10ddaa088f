"""Claims in context from pages of wikitext and HTML, and from dumps of MediaWiki."""

from admiral.citations.extract.page_files import (
    PAGE_FORMATS,
    PageFormat,
    ReadPage,
    claims_of_file,
    extract_claims,
    page_of_file,
    pages_of_file,
    read_page,
)

__all__ = [
    "PAGE_FORMATS",
    "PageFormat",
    "ReadPage",
    "claims_of_file",
    "extract_claims",
    "page_of_file",
    "pages_of_file",
    "read_page",
]
