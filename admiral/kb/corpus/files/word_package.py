"""Open the parts of a Word document, and look up its styles."""

from __future__ import annotations

import posixpath
import zipfile
from dataclasses import dataclass, field

from admiral.kb.corpus.files.office_packages import (
    Element,
    attribute,
    child,
    core_title,
    main_part,
    parsed,
    relationships,
)
from admiral.kb.corpus.files.raised_text import Position

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
    """The properties of a style, including those it inherits.

    Attributes
    ----------
    name
        As Word shows it, in English.
    level
        Level of a heading, from 1; 0 for other text.
    is_item
        Whether paragraphs are items of a list.
    is_hidden
        Whether text is hidden; None if the style does not say.
    position
        Of the text; None if the style does not say.
    """

    name: str = ""
    level: int = 0
    is_item: bool = False
    is_hidden: bool | None = None
    position: Position | None = None


@dataclass(slots=True)
class WordPackage:
    """The parts of a document that are read.

    Attributes
    ----------
    body
        The body.
    title
        Title in the metadata.
    notes
        The paragraphs of notes, by the name of the mark in the text and their ids.
    """

    body: Element
    title: str = ""
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
