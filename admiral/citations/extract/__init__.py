"""Claims in context from pages of wikitext and HTML, and from dumps of MediaWiki."""

from admiral.citations.extract.page_files import (
    PAGE_FORMATS,
    PageFormat,
    claims_of_file,
    extract_claims,
)

__all__ = ["PAGE_FORMATS", "PageFormat", "claims_of_file", "extract_claims"]
