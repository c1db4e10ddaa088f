"""Read a page of wikitext: paragraphs and items of lists with marks, and the references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise, zip_longest

from admiral.citations.extract.citation_templates import (
    FOOTNOTES,
    LISTS,
    NAMED,
    WikitextReferences,
    is_citation_template,
    is_short_reference,
    names_used,
    short_anchors,
)
from admiral.citations.extract.inline_templates import (
    counts,
    inline_text,
    quoted,
    visible_arguments,
)
from admiral.citations.extract.marked_blocks import MarkedPage
from admiral.citations.extract.marked_tables import box_blocks
from admiral.citations.extract.names import is_note_group, names_of, tag_of
from admiral.citations.extract.page_builder import PageBuilder
from admiral.citations.extract.wikitext_nodes import (
    POSITIONS,
    ExternalLink,
    Link,
    Node,
    Tag,
    Template,
    plain_text,
    sections,
)
from admiral.kb.corpus.files import Position, written

_NOTES = frozenset(names_of("marks", "notes"))
_MARKS = NAMED | _NOTES | FOOTNOTES | {"refn", "#tag:ref"}
# Namespaces of links that show a picture, or nothing, in the text.
_NOT_TEXT = re.compile(r"(file|image|media|category|datei|fichier)\s*:", re.IGNORECASE)
_OTHER_WIKI = re.compile(r"[a-z]{2,3}(-[a-z-]+)?:\S")
_CELLS = ("caption", "tr", "th", "td")
_REDIRECT = re.compile(r"\s*#redirect\s*:?\s*\[\[", re.IGNORECASE)
_LIST_MARK = re.compile(r"[*#:;]+")
_RULE = re.compile(r"-{4,}")
_NEXT_ITEM = re.compile(r"(\S?)\s*\n\s*[*#:;]*\s*")


def read_wikitext(text: str, title: str = "") -> MarkedPage:
    """Return a page of wikitext, whose lines end with a line feed, as marked blocks.

    Of tables, infoboxes, captions, headings and explanatory notes, what carries marks is kept.
    Comments and hidden text are left out; references that they define are known all the same.
    """
    if _REDIRECT.match(text):
        return MarkedPage(title)
    reader = _Reader()
    reader.read(text)
    references = reader.references
    return MarkedPage(
        title,
        tuple(reader.blocks),
        references.resolved(),
        reader.unknown,
        tuple(references.named),
    )


class _Reader(PageBuilder):
    """Turns the lines of sections into blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.references = WikitextReferences()
        self.unknown: Counter[str] = Counter()  # templates by name
        self._in_cell = False

    def read(self, text: str) -> None:
        """Read all sections of a page."""
        read = list(sections(text))
        for section in read:
            self.references.collect([*section.heading, *chain(*section.lines)])
        for section in read:
            if section.level:
                marked = self.apart(self._add_apart, section.heading)
                self.add(replace(marked, section=self.section), "heading")
                self.begin_section(section.level, plain_text(section.heading))
            for line in section.lines:
                self._add_line(line)
            self.end_block()

    def _add_line(self, line: Sequence[Node]) -> None:
        start = line[0] if line and isinstance(line[0], str) else ""
        if match := _LIST_MARK.match(start):
            self.end_block("list")
            self._add([start[match.end() :], *line[1:]])
            self.end_block()
        elif _RULE.match(start) or all(isinstance(node, str) and not node.strip() for node in line):
            self.end_block()
        else:
            self.text.add_text(" ")  # a single line break is a space
            self._add(line)

    def _add_apart(self, nodes: Sequence[Node], *, in_cell: bool = False) -> None:
        was_in_cell, self._in_cell = self._in_cell, in_cell
        self._add(nodes, in_text=True)
        self._in_cell = was_in_cell

    def _add(self, nodes: Sequence[Node], *, in_text: bool = False) -> None:
        in_text = in_text or not self.text.is_empty or any(map(_is_text, nodes))
        for node, following in zip_longest(nodes, nodes[1:], fillvalue=""):
            match node:
                case str():
                    self.text.add_text(node)
                case Template():
                    self._add_template(node, in_text)
                    if isinstance(following, str) and following[:1].isdigit():
                        self.text.part_digits()
                case Tag():
                    self._add_tag(node)
                case Link():
                    self._add_link(node)
                case ExternalLink():
                    self._add_external(node)

    def _add_template(self, template: Template, in_text: bool) -> None:
        """Add what a template says; one that is not known, only within a text."""
        name = template.name
        if self._mark(template):
            return
        if tag := tag_of(name):
            # {{citation needed span|text}} and the like tag a text
            if name.endswith("span"):
                self._add(template.parameters.get("1", template.parameters.get("text", [])))
            self.text.add_mark(tag=tag, place=template.place)
        elif is_citation_template(template):
            # In a sentence; otherwise an item of a bibliography.
            if self._in_cell or not self.text.is_empty:
                self.text.add_mark(self.references.use([template]), place=template.place)
        elif is_short_reference(template):
            self.text.add_text(", ".join(text for _, text in short_anchors(template)))
            self.text.add_mark(self.references.use_short(template), place=template.place)
        elif (text := quoted(template)) is not None:
            if not self.text.is_empty:
                self.end_block()
            self._add(text)
            self._add_marks(template, text)  # after the author, for example
            self.end_block()
        elif name in POSITIONS:
            self._add_moved(next(iter(template.unnamed), []), POSITIONS[name])
        else:
            self._add_inline(template, in_text)

    def _add_inline(self, template: Template, in_text: bool) -> None:
        shown = inline_text(template)
        is_known = shown is not None
        if shown is None and in_text:
            self.unknown[template.written] += 1
            shown = visible_arguments(template)
        if shown:
            if not is_known or counts(template):
                self.text.part_digits()
            self._add(shown)
            self._add_marks(template, shown)
        else:
            self._skip([template])
        if not (is_known and shown):
            self.text.leave_out()

    def _add_marks(self, template: Template, shown: Sequence[Node]) -> None:
        """Add the marks of a template that are not among the nodes that it shows."""
        added = {id(node) for node in mark_nodes(shown)}
        for value in template.parameters.values():
            for node in mark_nodes(value):
                if id(node) not in added:
                    self._mark(node)

    def _add_tag(self, tag: Tag) -> None:
        if tag.name in POSITIONS:
            self._add_moved(tag.content, POSITIONS[tag.name])
        elif tag.name == "table":
            is_box = any("infobox" in value.lower() for value in tag.attributes.values())
            read = partial(self._add_apart, in_cell=True)
            self.add_table(_table_parts(tag.content), read, is_box=is_box)
        elif tag.name in _CELLS:  # without a table around them
            self._add(tag.content)
        elif tag.name == "gallery":
            for line in _captions(tag.content):
                self._add_caption(line)
        elif not self._mark(tag):
            self._skip(tag.content)

    def _add_moved(self, nodes: Sequence[Node], position: Position) -> None:
        if any(isinstance(node, Tag) and node.name == "ref" for node in nodes):
            self._add(nodes)
        else:
            self.text.add_text(written(self.text.tail, plain_text(nodes), position))

    def _add_link(self, link: Link) -> None:
        target = link.target
        to_another_wiki = link.text is None and _OTHER_WIKI.match(target)
        if not target.startswith(":") and (_NOT_TEXT.match(target) or to_another_wiki):
            self._add_caption(link.text or ())
        elif link.text is None:
            self.text.add_text(target.lstrip(":").replace("_", " "))
        else:
            self._add(link.text)

    def _add_caption(self, nodes: Sequence[Node]) -> None:
        """Add the caption of a picture, which follows the last ``|``."""
        if not has_marks(nodes):
            self._skip(nodes)
            return
        bars = [at for at, node in enumerate(nodes) if isinstance(node, str) and "|" in node]
        if bars:
            nodes = [str(nodes[bars[-1]]).rpartition("|")[2], *nodes[bars[-1] + 1 :]]
        self.add(self.apart(self._add_apart, nodes), "caption")

    def _add_external(self, link: ExternalLink) -> None:
        if link.text is not None:
            self._add(link.text)
        elif link.is_bare or (self.text.is_empty and not self._in_cell):
            self.text.add_text(link.url)
        else:  # [http://example.org] is shown as a number
            self.text.add_mark(self.references.use([link]))

    def _mark(self, node: Template | Tag) -> bool:
        """Add the marks of a node, if it is a reference."""
        keys = list(self._used(node))
        for key in keys:
            self.text.add_mark(key, place=node.place)
        return bool(keys)

    def _used(self, node: Template | Tag) -> Iterator[str]:
        if isinstance(node, Tag):
            if node.name == "ref":
                name, group = node.attributes.get("name", ""), node.attributes.get("group", "")
                if is_note_group(group):
                    self._add_note(node.content)
                if node.content or name:
                    yield self.references.use(node.content, name, group)
            return
        parameters = node.parameters
        name, group = node.text("name"), node.text("group")
        if node.name in ("refn", "#tag:ref") or node.name in _NOTES:
            content = parameters.get("1", parameters.get("text", []))
            is_note = node.name in _NOTES
            if is_note or is_note_group(group):
                self._add_note(content)
            else:
                self._skip(content)
            yield self.references.use(content, name, group, is_note=is_note)
        elif node.name in NAMED:
            yield from (self.references.use((), each, group) for each in names_used(node))
        elif node.name in FOOTNOTES:
            yield self.references.use_short(node)

    def _add_note(self, nodes: Sequence[Node]) -> None:
        """Add the text of an explanatory note, which may have references itself."""
        if has_marks(nodes):
            self.add(self.apart(self._add_apart, nodes), "note")

    def _skip(self, nodes: Sequence[Node]) -> None:
        """Read what is not shown as text: boxes with marks, and the notes that a list defines."""
        for node in nodes:
            match node:
                case Template(name=name) if name in LISTS:
                    self._skip_list(node.parameters.get("refs", []))
                case Template():
                    if not list(self._used(node)):
                        self._add_box(node)
                case Tag(name="references"):
                    self._skip_list(node.content)
                case Tag():
                    if not list(self._used(node)):
                        self._skip(node.content)
                case Link() | ExternalLink():
                    self._skip(node.text or ())

    def _skip_list(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, Tag) and is_note_group(node.attributes.get("group", "")):
                self._add_note(node.content)

    def _add_box(self, template: Template) -> None:
        """Add what an infobox, or another template that is no text, says with marks."""
        parameters = template.parameters
        if any(map(has_marks, parameters.values())):
            lines = {key: _on_one_line(value) for key, value in parameters.items()}
            contents = {key: self.apart(self._add_apart, line) for key, line in lines.items()}
            self.blocks += box_blocks(contents, self.section)
        else:
            for value in parameters.values():
                self._skip(value)


def has_marks(nodes: Sequence[Node]) -> bool:
    """Return whether any of some nodes, or of what they contain, is a mark or a tag."""
    return next(mark_nodes(nodes), None) is not None


def mark_nodes(nodes: Sequence[Node]) -> Iterator[Template | Tag]:
    """Yield the nodes that are marks or tags, among all that some nodes contain."""
    for node in nodes:
        match node:
            case Template():
                if node.name in _MARKS or tag_of(node.name) or is_short_reference(node):
                    yield node
                elif not is_citation_template(node):
                    yield from mark_nodes(list(chain.from_iterable(node.parameters.values())))
            case Tag(name="ref"):
                yield node
            case Tag():
                yield from mark_nodes(node.content)
            case Link() | ExternalLink():
                yield from mark_nodes(node.text or ())


def _table_parts(nodes: Sequence[Node]) -> Iterator[tuple[str, dict[str, str], list[Node]]]:
    """Yield the caption and the cells of a table, and the rows that begin."""
    for node in nodes:
        if isinstance(node, Tag) and node.name in _CELLS:
            yield node.name, node.attributes, node.content
            if node.name == "tr":
                yield from _table_parts(node.content)
        elif not isinstance(node, str) or node.strip():  # a cell whose tag is not closed
            yield "td", {}, [node]


def _captions(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return the lines of a gallery, each joined with those after it that name no file."""
    lines: list[list[Node]] = [[]]
    for node in nodes:
        if not isinstance(node, str):
            lines[-1].append(node)
            continue
        for number, piece in enumerate(node.split("\n")):
            if number and "|" in piece:
                lines.append([piece])
            else:
                lines[-1] += [" ", piece] if number else [piece]
    return lines


def _on_one_line(nodes: Sequence[Node]) -> list[Node]:
    """Return the value of a parameter with its lines and the items of its lists joined."""
    line = list(nodes)
    if line and isinstance(line[0], str):
        line[0] = line[0].lstrip("*#:; \n\t")
    if line and isinstance(line[-1], str):
        line[-1] = line[-1].rstrip()
    for at, (each, after) in enumerate(pairwise(line)):
        if isinstance(each, str) and isinstance(after, Tag) and after.name == "ref":
            line[at] = each.rstrip()
    return [_NEXT_ITEM.sub(_joint, each) if isinstance(each, str) else each for each in line]


def _joint(match: re.Match[str]) -> str:
    before = match[1]
    return f"{before} " if before in tuple(".!?,;:(·•") else f"{before}, "


def _is_text(node: Node) -> bool:
    return isinstance(node, Link) or (isinstance(node, str) and any(map(str.isalnum, node)))
