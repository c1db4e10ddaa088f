"""Open the parts of documents that are archives: DOCX, XLSX, PPTX and, without parts, EPUB.

Archives have bounds against decompression bombs.

Names are compared without their namespaces, which differ between the two variants of the formats:
the transitional one, and the strict one of ISO/IEC 29500.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lxml import etree

from admiral.kb.corpus.files import TOO_LONG, Position, UnreadableFileError

LONGEST_MEMBER = 64 * 2**20  # bytes
LONGEST_ARCHIVE = 512 * 2**20
MOST_MEMBERS = 20_000
# Begins documents of Office before 2007, and those of later ones that are encrypted.
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def open_archive(data: bytes, is_read: tuple[str, ...]) -> zipfile.ZipFile:
    """Open an archive after checking the sizes of its members.

    `LONGEST_MEMBER` applies to members whose suffixes are in `is_read`, which are read as text.
    """
    if data.startswith(_OLD_OFFICE):
        is_encrypted = "EncryptedPackage".encode("utf-16-le") in data
        raise UnreadableFileError("encrypted" if is_encrypted else "in an old format of Office")
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = archive.infolist()
    if len(members) > MOST_MEMBERS or sum(one.file_size for one in members) > LONGEST_ARCHIVE:
        raise UnreadableFileError(TOO_LONG)
    for member in members:
        # zipfile never reads more than the size that is stated here.
        if member.filename.endswith(is_read) and member.file_size > LONGEST_MEMBER:
            raise UnreadableFileError(TOO_LONG)
        if member.flag_bits & 1:
            raise UnreadableFileError("encrypted")
    return archive


_OFF = frozenset(("0", "false", "off", "none"))
_BODY_TEXT = 9  # outline levels from 0 to 8 are headings
_POSITIONS: dict[str, Position] = {"superscript": "raised", "subscript": "lowered"}


def is_on(properties: Element | None, name: str) -> bool | None:
    """Return whether a property is switched on; None if it is not named."""
    found = child(properties, name)
    return None if found is None else attribute(found) not in _OFF


def raised_or_lowered(properties: Element | None) -> Position | None:
    """Return the position of text; None if the properties do not name it."""
    found = attribute(child(properties, "vertAlign"))
    return None if found is None else _POSITIONS.get(found, "")


@dataclass(frozen=True, slots=True)
class Style:
    """The properties of a style, including those it inherits."""

    name: str = ""  # as Word shows it, in English
    level: int = 0  # level of a heading, from 1; 0 for other text
    is_item: bool = False  # whether paragraphs are items of a list
    is_hidden: bool | None = None  # whether text is hidden; None if the style does not say
    position: Position | None = None  # of the text; None if the style does not say


@dataclass(slots=True)
class WordPackage:
    """The parts of a document that are read."""

    body: Element
    title: str = ""
    # The paragraphs of notes, by the name of the mark in the text and their ids.
    notes: dict[tuple[str, str], Element] = field(default_factory=dict)
    _styles: dict[str, Element] = field(default_factory=dict)
    _known: dict[str, Style] = field(default_factory=dict)
    _default: str = ""

    @classmethod
    def open(cls, archive: zipfile.ZipFile) -> WordPackage:
        """Read the parts of an archive; ValueError if it is no Word document."""
        main = main_part(archive, "word/document.xml")
        body = child(parsed(archive, main), "body")
        if body is None:
            raise ValueError("no Word document")
        package = cls(body)
        package.title = core_title(archive)
        parts = {each.kind: each.path for each in relationships(archive, main)}
        for style in parsed(archive, parts.get("styles", ""), ()):
            if key := attribute(style, "styleId"):
                package._styles[key] = style
                if attribute(style, "type") == "paragraph" and attribute(style, "default") == "1":
                    package._default = key
        for name in ("footnote", "endnote"):
            part = parts.get(f"{name}s", posixpath.join(posixpath.dirname(main), f"{name}s.xml"))
            for note in parsed(archive, part, ()):
                if attribute(note, "type") in (None, "normal"):
                    package.notes[f"{name}Reference", attribute(note, "id") or ""] = note
        return package

    def style(self, key: str | None, *, of_paragraph: bool = False) -> Style:
        """Return a style by its id; that of plain paragraphs if they name none."""
        key = key or (self._default if of_paragraph else "")
        if key not in self._known:
            self._known[key] = Style()  # styles that are based on themselves end here
            self._known[key] = self._resolved(self._styles.get(key))
        return self._known[key]

    def _resolved(self, style: Element | None) -> Style:
        if style is None:
            return Style()
        parent = self.style(attribute(child(style, "basedOn")))
        name = attribute(child(style, "name")) or ""
        paragraph, run = child(style, "pPr"), child(style, "rPr")
        level = outline_level(paragraph)
        first, _, number = name.lower().partition(" ")
        if first == "heading" and number.isdigit():
            level = int(number)
        elif name == "Title":
            level = 1
        is_item = is_numbered(paragraph)
        hidden, position = is_on(run, "vanish"), raised_or_lowered(run)
        return Style(
            name,
            parent.level if level is None else level,
            name.startswith("List") or (parent.is_item if is_item is None else is_item),
            parent.is_hidden if hidden is None else hidden,
            parent.position if position is None else position,
        )


def outline_level(properties: Element | None) -> int | None:
    """Return the level of a heading, from 1, 0 for body text, or None if it is not named."""
    value = attribute(child(properties, "outlineLvl"))
    if value is None or not value.isdigit():
        return None
    return int(value) + 1 if int(value) < _BODY_TEXT else 0


def is_numbered(properties: Element | None) -> bool | None:
    """Return whether a paragraph has a number or a bullet; None if it is not said."""
    numbering = child(properties, "numPr")
    return None if numbering is None else attribute(child(numbering, "numId")) != "0"


# An element of lxml, which carries no type information.
Element = Any


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace; "" for a comment."""
    tag = element.tag
    return tag[tag.rfind("}") + 1 :] if isinstance(tag, str) else ""


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first descendant along a path of names, or None."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if local_name(each) == name), None)
    return element


def children(element: Element | None, *path: str) -> Iterator[Element]:
    """Yield what is in the first descendant along a path of names; nothing if there is none."""
    found = child(element, *path)
    if found is not None:
        yield from found


def attribute(element: Element | None, name: str = "val") -> str | None:
    """Return an attribute by its name without a namespace, or None."""
    if element is None:
        return None
    for key, value in element.items():
        if key[key.rfind("}") + 1 :] == name:
            return str(value)
    return None


def main_part(archive: zipfile.ZipFile, usual: str) -> str:
    """Return the path of the main part of a document; `usual` if nothing names it."""
    kinds = {each.kind: each.path for each in relationships(archive, "")}
    return kinds.get("officeDocument", usual)


def core_title(archive: zipfile.ZipFile) -> str:
    """Return the title in the metadata of a document."""
    kinds = {each.kind: each.path for each in relationships(archive, "")}
    core = parsed(archive, kinds.get("core-properties", "docProps/core.xml"), ())
    return next((each.text or "" for each in core if local_name(each) == "title"), "")


class Relationship(NamedTuple):
    """A part that another one refers to: by an id, of a kind such as ``slide``, at a path."""

    id: str
    kind: str
    path: str


def relationships(archive: zipfile.ZipFile, part: str) -> Iterator[Relationship]:
    """Yield the parts that a part refers to, or the whole archive for ``""``."""
    folder, name = posixpath.split(part)
    for each in parsed(archive, posixpath.join(folder, "_rels", f"{name}.rels"), ()):
        kind = (attribute(each, "Type") or "").rsplit("/", 1)[-1]
        target = attribute(each, "Target") or ""
        path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        yield Relationship(attribute(each, "Id") or "", kind, path)


def elements(archive: zipfile.ZipFile, part: str, *names: str) -> Iterator[Element]:
    """Yield the elements of a part that have one of some names, without keeping the others.

    Those within another one come before it, and each is emptied after it was yielded.
    """
    with archive.open(part) as file:
        tags = [f"{{*}}{name}" for name in names]
        # Nothing is expanded or fetched, as in `parsed`.
        for _, element in etree.iterparse(
            file, tag=tags, resolve_entities=False, no_network=True, load_dtd=False
        ):
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]


def parsed(archive: zipfile.ZipFile, part: str, default: Any = None) -> Any:
    """Return the root of a part; `default`, if there is one, for a part that is missing."""
    try:
        data = archive.read(part)
    except KeyError:
        if default is None:
            raise ValueError(f"{part} is missing") from None
        return default
    # Entities are not expanded and nothing is fetched.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(data, parser)
