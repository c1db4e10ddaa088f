"""Read a page of wikitext: paragraphs and items of lists with marks, and the references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from admiral.citations.citation_records import Kind
from admiral.citations.extract.citation_templates import (
    FOOTNOTES,
    WikitextReferences,
    is_citation_template,
    is_short_reference,
    short_anchors,
)
from admiral.citations.extract.inline_templates import (
    counts,
    inline_text,
    quoted,
    visible_arguments,
)
from admiral.citations.extract.marked_blocks import (
    PROSE,
    Block,
    BlockBuilder,
    MarkedPage,
    is_note_group,
    joined,
    tag_of,
)
from admiral.citations.extract.marked_tables import (
    MarkedTable,
    box_blocks,
    span_of,
)
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

_NAMED = frozenset({"r", "ref name", "named ref"})  # {{r|name|name}}
_REFERENCE_LISTS = frozenset({"reflist", "refs", "reference list", "notelist", "references"})
_NOTES = frozenset(
    ("efn", "efn-ua", "efn-lr", "efn-la", "efn-ur", "note", "notetag", "cref", "ref label")
)
_MARKS = _NAMED | _NOTES | FOOTNOTES | {"refn"}
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
    return MarkedPage(title, tuple(reader.blocks), reader.references.resolved(), reader.unknown)


class _Reader:
    """Turns the lines of sections into blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.references = WikitextReferences()
        self.unknown: Counter[str] = Counter()  # templates by name
        self._headings: list[tuple[int, str]] = []
        self._builder = BlockBuilder()
        self._in_cell = False

    def read(self, text: str) -> None:
        """Read all sections of a page."""
        for section in sections(text):
            if section.level:
                self._add_heading(section.level, section.heading)
            for line in section.lines:
                self._add_line(line)
            self._end_block()

    def _add_line(self, line: Sequence[Node]) -> None:
        start = line[0] if line and isinstance(line[0], str) else ""
        if match := _LIST_MARK.match(start):
            self._end_block("list")
            self._add([start[match.end() :], *line[1:]])
            self._end_block()
        elif _RULE.match(start) or all(isinstance(node, str) and not node.strip() for node in line):
            self._end_block()
        else:
            self._builder.add_text(" ")  # a single line break is a space
            self._add(line)

    def _add_heading(self, level: int, nodes: Sequence[Node]) -> None:
        marked = self._apart(nodes)
        self._add_block(replace(marked, section=self._section()), "heading")
        self._headings = [each for each in self._headings if each[0] < level]
        self._headings.append((level, plain_text(nodes)))
        self._builder = BlockBuilder(self._section())

    def _add_table(self, tag: Tag) -> None:
        self._end_block()
        is_box = any("infobox" in value.lower() for value in tag.attributes.values())
        table = MarkedTable(self._section(), "infobox" if is_box else "table")
        for part in _table_parts(tag.content):
            if part.name == "tr":
                table.end_row()
                continue
            content = self._apart(part.content, in_cell=True)
            if part.name == "caption":
                table.caption(content)
            else:
                columns, rows = (span_of(part.attributes.get(f"{of}span")) for of in ("col", "row"))
                table.cell(content, is_head=part.name == "th", columns=columns, rows=rows)
        self.blocks += table.blocks()

    def _apart(self, nodes: Sequence[Node], *, in_cell: bool = False) -> Block:
        """Return nodes that are no part of the text around them as one block."""
        builder, blocks, was_in_cell = self._builder, self.blocks, self._in_cell
        self._builder, self.blocks, self._in_cell = BlockBuilder(self._section()), [], in_cell
        self._add(nodes, in_text=True)
        self._end_block()
        own = [each for each in self.blocks if each.kind in PROSE]
        blocks += [each for each in self.blocks if each.kind not in PROSE]
        self._builder, self.blocks, self._in_cell = builder, blocks, was_in_cell
        return joined(own, self._section())

    def _add_block(self, block: Block, kind: Kind) -> None:
        """Add a block of some kind, if it has marks; without text, they follow a sentence."""
        if block.marks:
            self.blocks.append(replace(block, kind=kind) if block.text else block)

    def _section(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._headings)

    def _end_block(self, kind: Kind = "sentence") -> None:
        if block := self._builder.build():
            self.blocks.append(block)
        self._builder = BlockBuilder(self._section(), kind)

    def _add(self, nodes: Sequence[Node], *, in_text: bool = False) -> None:
        in_text = in_text or not self._builder.is_empty or any(_is_text(node) for node in nodes)
        for position, node in enumerate(nodes):
            if isinstance(node, str):
                self._builder.add_text(node)
            elif isinstance(node, Template):
                self._add_template(node, in_text)
                following = nodes[position + 1] if position + 1 < len(nodes) else ""
                if isinstance(following, str) and following[:1].isdigit():
                    self._part_digits()
            elif isinstance(node, Tag):
                self._add_tag(node)
            elif isinstance(node, Link):
                self._add_link(node)
            else:
                self._add_external(node)

    def _part_digits(self) -> None:
        """Add a space, unless the text so far ends with no digit."""
        if self._builder.tail[-1:].isdigit():
            self._builder.add_text(" ")

    def _add_template(self, template: Template, in_text: bool) -> None:
        """Add what a template says; one that is not known, only within a text."""
        if self._mark(template):
            return
        if tag := tag_of(template.name):
            # {{citation needed span|text}} and the like tag a text
            if template.name.endswith("span"):
                self._add(template.parameters.get("1", template.parameters.get("text", [])))
            self._builder.add_mark(tag=tag, place=template.place)
        elif is_citation_template(template):
            self.references.add_to_bibliography(template)
            # In a sentence; otherwise an item of a bibliography.
            if self._in_cell or not self._builder.is_empty:
                self._builder.add_mark(self.references.use([template]), place=template.place)
        elif is_short_reference(template):
            pairs = short_anchors(template)
            self._builder.add_text(", ".join(text for _, text in pairs))
            self._builder.add_mark(self.references.use_short(template), place=template.place)
        elif (text := quoted(template)) is not None:
            if not self._builder.is_empty:
                self._end_block()
            self._add(text)
            self._add_marks(template, text)  # after the author, for example
            self._end_block()
        elif template.name in POSITIONS:
            self._add_moved(next(iter(template.unnamed), []), POSITIONS[template.name])
        elif (shown := inline_text(template)) is not None:
            if counts(template):
                self._part_digits()
            self._add(shown)
            if shown:
                self._add_marks(template, shown)
            else:
                self._skip([template])
                self._builder.leave_out()
        elif in_text:
            self.unknown[template.written] += 1
            if shown := visible_arguments(template):
                self._part_digits()
                self._add(shown)
                self._add_marks(template, shown)
            else:
                self._skip([template])
            self._builder.leave_out()
        else:
            self._skip([template])
            self._builder.leave_out()

    def _add_marks(self, template: Template, shown: Sequence[Node]) -> None:
        """Add the marks of a template that are not among the nodes that it shows."""
        added = {id(node) for node in mark_nodes(shown)}
        for value in template.parameters.values():
            for node in mark_nodes(value):
                if id(node) not in added and isinstance(node, Template | Tag):
                    self._mark(node)

    def _add_tag(self, tag: Tag) -> None:
        if tag.name in POSITIONS:
            self._add_moved(tag.content, POSITIONS[tag.name])
        elif tag.name == "table":
            self._add_table(tag)
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
            self._builder.add_text(written(self._builder.tail, plain_text(nodes), position))

    def _add_link(self, link: Link) -> None:
        target = link.target
        if not target.startswith(":") and (_NOT_TEXT.match(target) or _is_language(link)):
            self._add_caption(link.text or ())
        elif link.text is None:
            self._builder.add_text(target.lstrip(":").replace("_", " "))
        else:
            self._add(link.text)

    def _add_caption(self, nodes: Sequence[Node]) -> None:
        """Add the caption of a picture, which follows the last ``|``."""
        if not has_marks(nodes):
            self._skip(nodes)
            return
        caption: list[Node] = []
        for node in nodes:
            if isinstance(node, str) and "|" in node:
                caption = [node.rpartition("|")[2]]
            else:
                caption.append(node)
        self._add_block(self._apart(caption), "caption")

    def _add_external(self, link: ExternalLink) -> None:
        if link.text is not None:
            self._add(link.text)
        elif link.is_bare or (self._builder.is_empty and not self._in_cell):
            self._builder.add_text(link.url)
        else:  # [http://example.org] is shown as a number
            self._builder.add_mark(self.references.use([link]))

    def _mark(self, node: Template | Tag) -> bool:
        """Add the marks of a node, if it is a reference."""
        keys = list(self._used(node))
        for key in keys:
            self._builder.add_mark(key, place=node.place)
        return bool(keys)

    def _used(self, node: Template | Tag) -> Iterator[str]:
        if isinstance(node, Tag):
            if node.name == "ref":
                name, group = node.attributes.get("name", ""), node.attributes.get("group", "")
                self._skip_within(node.content, group)
                if node.content or name:
                    yield self.references.use(node.content, name, group)
            return
        parameters = node.parameters
        name, group = (plain_text(parameters.get(key)) for key in ("name", "group"))
        if node.name in ("refn", "#tag:ref") or node.name in _NOTES:
            content = parameters.get("1", parameters.get("text", []))
            is_note = node.name in _NOTES
            if is_note or is_note_group(group):
                self._add_note(content)
            else:
                self._skip(content)
            yield self.references.use(content, name, group, is_note=is_note)
        elif node.name in _NAMED:
            names = [key for key in parameters if key.isdigit() or re.fullmatch(r"n\d", key)]
            for key in sorted(names, key=lambda each: int(each.lstrip("n"))):
                if name := plain_text(parameters[key]):
                    yield self.references.use((), name, group)
        elif node.name in FOOTNOTES:
            yield self.references.use_short(node)

    def _add_note(self, nodes: Sequence[Node]) -> None:
        """Add the text of an explanatory note, which may have references itself."""
        if has_marks(nodes):
            self._add_block(self._apart(nodes), "note")

    def _skip_within(self, nodes: Sequence[Node], group: str) -> None:
        """Note the citation templates of a reference, which short references may name."""
        if is_note_group(group):
            self._add_note(nodes)
        for node in nodes:
            if isinstance(node, Template) and is_citation_template(node):
                self.references.add_to_bibliography(node)

    def _skip(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, str):
                continue
            if isinstance(node, Template):
                if is_citation_template(node):
                    self.references.add_to_bibliography(node)
                if node.name in _REFERENCE_LISTS:
                    self._define(node.parameters.get("refs", []))
                elif not list(self._used(node)):
                    self._add_box(node)
            elif isinstance(node, Tag):
                if node.name == "references":
                    self._define(node.content)
                elif not list(self._used(node)):
                    self._skip(node.content)
            else:
                self._skip(node.text or ())

    def _add_box(self, template: Template) -> None:
        """Add what an infobox, or another template that is no text, says with marks."""
        parameters = template.parameters
        if not any(has_marks(value) for value in parameters.values()):
            for value in parameters.values():
                self._skip(value)
            return
        contents = {key: self._apart(_on_one_line(value)) for key, value in parameters.items()}
        self.blocks += box_blocks(contents, self._section())

    def _define(self, nodes: Sequence[Node]) -> None:
        """Read the definitions of a list of references, which are not used there."""
        for node in nodes:
            if isinstance(node, Tag) and node.name == "ref":
                attributes = node.attributes
                group = attributes.get("group", "")
                self._skip_within(node.content, group)
                self.references.define(node.content, attributes.get("name", ""), group)


def has_marks(nodes: Sequence[Node]) -> bool:
    """Return whether any of some nodes, or of what they contain, is a mark or a tag."""
    return next(mark_nodes(nodes), None) is not None


def mark_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes that are marks or tags, among all that some nodes contain."""
    for node in nodes:
        if isinstance(node, Template):
            name = node.name
            if name in _MARKS or tag_of(name) or (name == "#tag:ref") or is_short_reference(node):
                yield node
            elif not is_citation_template(node):
                for value in node.parameters.values():
                    yield from mark_nodes(value)
        elif isinstance(node, Tag):
            if node.name == "ref":
                yield node
            else:
                yield from mark_nodes(node.content)
        elif isinstance(node, Link | ExternalLink):
            yield from mark_nodes(node.text or ())


def _table_parts(nodes: Sequence[Node]) -> Iterator[Tag]:
    """Yield the caption and the cells of a table, and the rows that begin."""
    for node in nodes:
        if isinstance(node, Tag) and node.name == "tr":
            yield node
            yield from _table_parts(node.content)
        elif isinstance(node, Tag) and node.name in _CELLS:
            yield node
        elif not isinstance(node, str) or node.strip():  # a cell whose tag is not closed
            yield Tag("td", {}, [node])


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


def _is_language(link: Link) -> bool:
    """Return whether a link is one between the wikis of two languages, which no text shows."""
    return link.text is None and bool(_OTHER_WIKI.match(link.target))


def _is_text(node: Node) -> bool:
    return isinstance(node, Link) or (isinstance(node, str) and any(map(str.isalnum, node)))
