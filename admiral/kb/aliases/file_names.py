"""Names of documents that were read from files: of commands, packages, files and folders.

The title of a manual page is "curl(1)", but texts name it "curl". A README describes the folder
that it lies in. Packages are spelled in several ways: "python-dateutil", "python_dateutil". Names
in lower case count too, unlike in titles of records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from admiral.io.streams import COMPRESSED_SUFFIXES
from admiral.records import SECTION_SEPARATOR, Document

_MANUAL_PAGE = re.compile(r"([\w.+:@-]*\w\+*)\((\d\w*|n)\)")
_PAGES_NAMED = re.compile(r"([\w.+:@-]+(?:, [\w.+:@-]+)*),? [-–—] ")
# Files that describe the folder that they lie in, and folders that are only parts of one.
_DESCRIBES_FOLDER = frozenset({"readme", "index", "metadata", "pkg-info", "about", "overview"})
_PARTS = frozenset({"doc", "docs", "documentation", "en", "html", "latest", "source", "src"})
_VERSION = re.compile(r"[-_]v?\d[\w.+-]*$|\.(?:dist|egg)-info$")
_PACKAGE = re.compile(r"[A-Za-z][\w.-]*\w(?= \(|$)")
_LANGUAGE_PREFIX = re.compile(r"(?:python3?|node|ruby|golang|rust|lua|php)-(?=[a-z])")
_TAGLINE = re.compile(r"(\w[\w.+-]*(?: [\w.+-]+)?)(?::| [-–—]) ")


def names_of_file(document: Document) -> Iterator[str]:
    """Yield the names of a document that was read from a file."""
    if not document.source:
        return
    title = document.title
    # Also the name before what tells it apart from others: "six (vendored)".
    own_name = None if title.casefold() in _DESCRIBES_FOLDER else _PACKAGE.match(title)
    if not title[:1].isupper() and title.casefold() not in _DESCRIBES_FOLDER:
        yield from (title, own_name[0]) if own_name else (title,)
    if match := _MANUAL_PAGE.match(title):
        yield from _names_of_manual_page(document, match[1], match[2])
        return
    if match := _TAGLINE.match(title):
        yield match[1]
    yield from _common_heading(document)
    parts = [part for part in re.split(r"[/\\]", document.source) if part]
    name = _without_suffixes(parts[-1]) if parts else ""
    if name.casefold() not in _DESCRIBES_FOLDER:
        if not _is_ordinary(name):
            yield name
        return
    if own_name:
        yield from spellings(own_name[0])
    if "/" in title:  # "requests/README"
        yield from spellings(_folder(title.split("/")[:-1]))
    elif not _is_ordinary(folder := _folder(parts[-2::-1])):
        yield from spellings(folder)


def spellings(name: str) -> Iterator[str]:
    """Yield the spellings of a package's name: ``python3-Foo_bar`` is also ``foo-bar``."""
    if not _PACKAGE.fullmatch(name):
        return
    for spelling in (name, _LANGUAGE_PREFIX.sub("", name)):
        for variant in (spelling, spelling.lower(), spelling[0].upper() + spelling[1:]):
            yield variant
            yield re.sub("[-_.]+", "-", variant)
            yield re.sub("[-_.]+", "_", variant)


def _names_of_manual_page(document: Document, page: str, section: str) -> Iterator[str]:
    """Yield the names of a page and of the others that its first section says it is about."""
    heading = document.sections[0] if document.sections else ""
    names = [page]
    if heading.casefold() == "name" and (match := _PAGES_NAMED.match(document.sentences[0])):
        names += match[1].split(", ")
    for name in names:
        yield from (name, f"{name}({section})", name[:1].upper() + name[1:])
    # The page of "git commit" is called git-commit(1).
    spaced = page.replace("-", " ")
    if spaced != page and any(spaced in sentence for sentence in document.sentences):
        yield spaced


def _common_heading(document: Document) -> Iterator[str]:
    """Yield the heading above all sentences, which is the title that the file gives itself."""
    headings = {section.partition(SECTION_SEPARATOR)[0] for section in document.sections}
    if len(headings) == 1:
        yield from headings


def _without_suffixes(name: str) -> str:
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return PurePosixPath(name).stem


def _is_ordinary(name: str) -> bool:
    """Return whether the name of a file or folder may be any word: "live", "policy"."""
    return name.isalpha() and name.islower()


def _folder(parts: Iterable[str]) -> str:
    """Return the first folder that is not only a part of another one, without its version."""
    return _without_version(next((p for p in parts if p.casefold() not in _PARTS), ""))


def _without_version(name: str) -> str:
    previous = ""
    while previous != name:
        previous, name = name, _VERSION.sub("", name)
    return name
