"""Read EPUB books: the chapters in reading order, as XHTML."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from admiral.io.text_cleaning import decode_page
from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.html_files import add_html
from admiral.kb.corpus.files.office_packages import open_archive

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_READ = (".xml", ".opf", ".html", ".xhtml", ".htm")
# Of XHTML, its forerunners in old books, and pages of other languages that readers show as text.
_CHAPTER_TYPES = ("html", "text/x-oeb1-document", "dtbook", "application/xml", "text/xml")
_CHAPTER_SUFFIXES = (".xhtml", ".html", ".htm")


def read_epub(data: bytes, text: TextBuilder) -> None:
    """Read an EPUB book."""
    with open_archive(data, _READ) as archive:
        names = archive.namelist()
        if _ENCRYPTION in names:
            protected = _elements(_xml(archive, _ENCRYPTION), "CipherReference")
            if any(each.get("URI", "").endswith(("html", "htm")) for each in protected):
                raise UnreadableFileError("encrypted")
        path = _package_path(archive, names)
        package = _xml(archive, path)
        for title in _elements(package, "title"):
            text.propose_title(title.text)
        spellings = {_spelling(name): name for name in reversed(names)} | {
            name: name for name in names
        }
        read: set[str] = set()
        for href in _chapters(package):
            name = _member(spellings, posixpath.dirname(path), href)
            if name is None:
                text.notes.append(f"the chapter {href} is not in the book")
            elif name not in read:  # parts of one file are chapters of some books
                read.add(name)
                add_html(decode_page(archive.read(name), notes=text.notes), text, is_xml=True)


def _package_path(archive: ZipFile, names: list[str]) -> str:
    if _CONTAINER in names:
        for node in _elements(_xml(archive, _CONTAINER), "rootfile"):
            if (path := unquote(node.get("full-path", "")).lstrip("/")) in names:
                return path
    found = [name for name in names if name.lower().endswith(".opf")]
    if not found:
        raise UnreadableFileError("an EPUB without a list of its chapters")
    return found[0]


def _chapters(package: ElementTree.Element) -> Iterator[str]:
    items = {node.get("id"): node for node in _elements(package, "item")}
    spine = [items[r] for n in _elements(package, "itemref") if (r := n.get("idref")) in items]
    for item in spine or items.values():
        chapter: ElementTree.Element | None = item
        for _ in items:  # what a reader cannot show has another form
            if chapter is None or _is_chapter(chapter):
                break
            chapter = items.get(chapter.get("fallback"))
        if chapter is not None and _is_chapter(chapter):
            yield chapter.get("href", "")


def _is_chapter(item: ElementTree.Element) -> bool:
    kind = item.get("media-type", "").lower()
    path = item.get("href", "").partition("#")[0].lower()
    return any(name in kind for name in _CHAPTER_TYPES) or path.endswith(_CHAPTER_SUFFIXES)


def _member(spellings: dict[str, str], folder: str, href: str) -> str | None:
    """Return the file of a book at an address, in whichever way this is spelt."""
    for address in (href.partition("#")[0], href):
        for path in (unquote(address), address):
            name = posixpath.normpath(posixpath.join(folder, path)).lstrip("/")
            if found := spellings.get(name) or spellings.get(_spelling(name)):
                return found
    return None


def _spelling(name: str) -> str:
    return unicodedata.normalize("NFC", name.replace("\\", "/")).casefold()


def _xml(archive: ZipFile, name: str) -> ElementTree.Element:
    data = archive.read(name)
    # Entities could grow without bound or name other files; no EPUB needs its own.
    if b"<!ENTITY" in data.replace(b"\0", b""):
        raise ValueError("declares XML entities")
    return ElementTree.fromstring(data.strip())


def _elements(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [node for node in root.iter() if str(node.tag).rpartition("}")[2] == name]
