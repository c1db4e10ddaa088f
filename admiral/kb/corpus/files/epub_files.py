"""Read EPUB books: the chapters in reading order, as HTML."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from admiral.kb.corpus.files.extraction import TOO_LONG, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.html_files import add_html
from admiral.kb.corpus.files.zip_archives import open_archive

_CONTAINER = "META-INF/container.xml"
_READ = (".xml", ".opf", ".html", ".xhtml", ".htm")
_LONGEST_PACKAGE = 8 * 2**20  # bytes


def read_epub(data: bytes, text: TextBuilder) -> None:
    """Read an EPUB book."""
    with open_archive(data, _READ) as archive:
        if "META-INF/encryption.xml" in archive.namelist() and _is_protected(archive):
            raise UnreadableFileError("encrypted")
        path = next(
            node.get("full-path", "") for node in _elements(_xml(archive, _CONTAINER), "rootfile")
        )
        package = _xml(archive, path)
        for title in _elements(package, "title"):
            text.propose_title(title.text)
        folder = posixpath.dirname(path)
        files = {node.get("id"): node for node in _elements(package, "item")}
        names = set(archive.namelist())
        for reference in _elements(package, "itemref"):
            item = files.get(reference.get("idref"))
            if item is None or "html" not in item.get("media-type", ""):
                continue
            name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
            if name in names:
                add_html(archive.read(name).decode("utf-8", "replace"), text)


def _is_protected(archive: ZipFile) -> bool:
    """Return whether more than fonts are encrypted."""
    references = _elements(_xml(archive, "META-INF/encryption.xml"), "CipherReference")
    return any(node.get("URI", "").endswith(("html", "htm")) for node in references)


def _xml(archive: ZipFile, name: str) -> ElementTree.Element:
    if archive.getinfo(name).file_size > _LONGEST_PACKAGE:
        raise UnreadableFileError(TOO_LONG)
    data = archive.read(name)
    # Entities could grow without bound or name other files; no EPUB needs its own.
    if b"<!ENTITY" in data.replace(b"\0", b""):
        raise ValueError("declares XML entities")
    return ElementTree.fromstring(data)


def _elements(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    """Return all elements of a local name, in any namespace."""
    return [node for node in root.iter() if node.tag.rpartition("}")[2] == name]
