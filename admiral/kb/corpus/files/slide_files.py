"""Read presentations (PPTX): the text of each slide that is shown, its tables, and its notes.

The title of a slide comes first, then its shapes in their order from back to front. Dates, footers
and numbers of slides are left out, and so is what the master of the slides repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from zipfile import ZipFile

from admiral.kb.corpus.files import Position, TextBuilder, joined_text
from admiral.kb.corpus.files.delimited_files import EMPTY, MOST_COLUMNS, GridCell, add_grid
from admiral.kb.corpus.files.office_packages import (
    Element,
    attribute,
    child,
    children,
    core_title,
    local_name,
    main_part,
    open_archive,
    parsed,
    relationships,
)

_OFF = ("0", "false")
_ON = ("1", "true")
_TITLES = ("title", "ctrTitle")
_REPEATED = ("dt", "ftr", "sldNum", "hdr")
_FIELDS_LEFT_OUT = ("slidenum", "datetime")


def read_pptx(data: bytes, text: TextBuilder) -> None:
    """Read a PPTX or PPTM file. The section of a sentence is its slide, and the title of that."""
    with open_archive(data, (".xml", ".rels")) as archive:
        main = main_part(archive, "ppt/presentation.xml")
        root = parsed(archive, main)
        if local_name(root) != "presentation":
            raise ValueError("no presentation")
        text.propose_title(core_title(archive))
        paths = {part.id: part.path for part in relationships(archive, main)}
        for number, entry in enumerate(children(root, "sldIdLst"), 1):
            # An attribute `id` without a namespace is another number.
            key = next((v for k, v in entry.items() if k.endswith("}id")), "")
            if (path := paths.get(key, "")) not in archive.namelist():
                text.notes.append(f"slide {number} is not in the file")
                continue
            slide = parsed(archive, path)
            if attribute(slide, "show") not in _OFF:
                text.heading(1, f"slide {number}", is_title=False)
                _Slide(archive, path, text).add(slide)


class _Slide:
    """Adds the text of a slide."""

    def __init__(self, archive: ZipFile, path: str, text: TextBuilder) -> None:
        self._archive, self._text = archive, text
        self._parts = list(relationships(archive, path))

    def add(self, slide: Element) -> None:
        shapes = list(_shapes(child(slide, "cSld", "spTree")))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(_paragraph(p) for shape in titles for p in children(shape, "txBody"))
        self._text.propose_title(title)
        self._text.heading(2, title)
        for shape in shapes:
            if shape not in titles and _placeholder(shape) not in _REPEATED:
                self._add_shape(shape)
        if self._text.lacks_text:  # the title may be all that a slide with a picture says
            self._text.paragraph(title)
        for part in self._parts:
            if part.kind == "notesSlide":
                self._add_notes(parsed(self._archive, part.path, ()))

    def _add_shape(self, shape: Element) -> None:
        if local_name(shape) != "graphicFrame":
            self._add_paragraphs(shape)
            return
        for content in children(shape, "graphic", "graphicData"):
            if local_name(content) == "tbl":
                add_grid(_rows(content), self._text, level=3)
            elif local_name(content) == "relIds":
                self._add_diagram(attribute(content, "dm") or "")

    def _add_paragraphs(self, shape: Element) -> None:
        paragraphs = [each for each in children(shape, "txBody") if local_name(each) == "p"]
        written = [line for each in paragraphs if (line := _paragraph(each).strip())]
        if len(written) > 1:
            self._text.begin_list()
        for line in written:
            (self._text.item if len(written) > 1 else self._text.paragraph)(line)

    def _add_diagram(self, key: str) -> None:
        path = next((part.path for part in self._parts if part.id == key), "")
        self._text.begin_list()
        for point in children(parsed(self._archive, path, ()), "ptLst"):
            if attribute(point, "type") in (None, "node", "asst"):
                for paragraph in children(point, "t"):
                    self._text.item(_paragraph(paragraph))

    def _add_notes(self, notes: Element) -> None:
        for shape in _shapes(child(notes, "cSld", "spTree")):
            if _placeholder(shape) == "body":
                for paragraph in children(shape, "txBody"):
                    self._text.paragraph(_paragraph(paragraph))


def _shapes(parent: Element | None) -> Iterator[Element]:
    for shape in () if parent is None else parent:
        name = local_name(shape)
        if name == "AlternateContent":
            yield from _shapes(next((e for e in shape if local_name(e) == "Choice"), None))
        elif attribute(_own_properties(shape, "cNvPr"), "hidden") in _ON:
            continue
        elif name == "grpSp":
            yield from _shapes(shape)
        elif name in ("sp", "graphicFrame", "cxnSp"):
            yield shape


def _own_properties(shape: Element, name: str) -> Element | None:
    for each in shape:
        if local_name(each).startswith("nv") and (found := child(each, name)) is not None:
            return found
    return None


def _placeholder(shape: Element) -> str | None:
    found = child(_own_properties(shape, "nvPr"), "ph")
    return None if found is None else attribute(found, "type") or "obj"


def _rows(table: Element) -> Iterator[list[GridCell]]:
    above: list[GridCell] = []
    for row in table:
        if local_name(row) != "tr":
            continue
        cells: list[GridCell] = []
        for element in row:
            if local_name(element) != "tc" or attribute(element, "hMerge") in _ON:
                continue
            lines = (_paragraph(each).strip() for each in children(element, "txBody"))
            cell = GridCell("; ".join(filter(None, lines)))
            if attribute(element, "vMerge") in _ON:
                cell = above[len(cells)] if len(cells) < len(above) else EMPTY
            span = int(attribute(element, "gridSpan") or "1")
            cells += [cell] * min(max(span, 1), MOST_COLUMNS)
        above = cells
        yield cells


def _paragraph(paragraph: Element) -> str:
    return joined_text(_pieces(paragraph)) if local_name(paragraph) == "p" else ""


def _pieces(paragraph: Element) -> Iterator[tuple[str, Position]]:
    for run in paragraph:
        name = local_name(run)
        if name == "br":
            yield "\n", ""
        elif name == "r" or (
            name == "fld"
            and not (attribute(run, "type") or "").lower().startswith(_FIELDS_LEFT_OUT)
        ):
            written = child(run, "t")
            baseline = attribute(child(run, "rPr"), "baseline") or "0"
            position: Position = ""
            if baseline.strip("-%0."):
                position = "lowered" if baseline.startswith("-") else "raised"
            yield (written.text if written is not None else "") or "", position
        elif name == "AlternateContent":
            yield from _pieces(next((e for e in run if local_name(e) == "Choice"), ()))
        elif name == "m":  # a formula
            yield "".join(each.text or "" for each in run.iter() if local_name(each) == "t"), ""
