"""Read a page of wikitext: paragraphs and items of lists with marks, and the references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from admiral.citations.citation_records import Kind
from admiral.citations.extract.citation_templates import (
    FOOTNOTES,
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
from admiral.citations.extract.marked_blocks import Block, BlockBuilder, MarkedPage, tag_of
from admiral.citations.extract.wikitext_lines import wikitext_lines
from admiral.citations.extract.wikitext_nodes import (
    POSITIONS,
    ExternalLink,
    Link,
    Node,
    Tag,
    Template,
    parse_line,
    plain_text,
)
from admiral.citations.extract.wikitext_references import WikitextReferences
from admiral.kb.corpus.files.raised_text import Position, written

_NAMED = frozenset({"r", "ref name", "named ref"})  # {{r|name|name}}
_REFERENCE_LISTS = frozenset({"reflist", "refs", "reference list", "notelist", "references"})
_NOTES = frozenset(
    ("efn", "efn-ua", "efn-lr", "efn-la", "efn-ur", "note", "notetag", "cref", "ref label")
)
# Namespaces of links that show a picture, or nothing, in the text.
_NOT_TEXT = re.compile(r"(file|image|media|category|datei|fichier)\s*:", re.IGNORECASE)
_OTHER_WIKI = re.compile(r"[a-z]{2,3}(-[a-z-]+)?:\S")
_REDIRECT = re.compile(r"\s*#redirect\s*:?\s*\[\[", re.IGNORECASE)
_SWITCH = re.compile(r"__[A-Z]+__")
_LIST_MARK = re.compile(r"[*#:;]+")
_RULE = re.compile(r"-{4,}")


def read_wikitext(text: str, title: str = "") -> MarkedPage:
    """Return a page of wikitext as marked blocks.

    Left out are tables, infoboxes and other templates that are no text, captions, comments and
    hidden text; references that they define are known all the same.
    """
    if _REDIRECT.match(text):
        return MarkedPage(title)
    reader = _Reader()
    reader.read(wikitext_lines(text.replace("\r\n", "\n").replace("\r", "\n")))
    return MarkedPage(title, tuple(reader.blocks), reader.references.resolved(), reader.unknown)


class _Reader:
    """Turns lines into blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.references = WikitextReferences()
        self.unknown: Counter[str] = Counter()  # templates by name
        self._headings: list[tuple[int, str]] = []
        self._builder = BlockBuilder()

    def read(self, lines: Sequence[str]) -> None:
        """Read all lines of a page."""
        for line, is_table in _outside_tables(lines):
            if is_table:
                self._end_block()
                self._skip(parse_line(line))
            elif heading := _heading(line):
                self._end_block()
                level, text = heading
                self._headings = [each for each in self._headings if each[0] < level]
                self._headings.append((level, self._heading_text(text)))
                self._builder = BlockBuilder(self._section())
            elif match := _LIST_MARK.match(line):
                self._end_block("list")
                self._add(parse_line(line[match.end() :]))
                self._end_block()
            elif not line.strip() or _RULE.match(line):
                self._end_block()
            else:
                self._builder.add_text(" ")  # a single line break is a space
                self._add(parse_line(_SWITCH.sub("", line)))
        self._end_block()

    def _heading_text(self, text: str) -> str:
        nodes = parse_line(text)
        self._skip(nodes)
        return plain_text(nodes)

    def _section(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._headings)

    def _end_block(self, kind: Kind = "sentence") -> None:
        if block := self._builder.build():
            self.blocks.append(block)
        self._builder = BlockBuilder(self._section(), kind)

    def _add(self, nodes: Sequence[Node]) -> None:
        in_text = not self._builder.is_empty or any(_is_text(node) for node in nodes)
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
            self._builder.add_mark(tag=tag)
        elif is_citation_template(template):
            self.references.add_to_bibliography(template)
            if not self._builder.is_empty:  # in a sentence; otherwise an item of a bibliography
                self._builder.add_mark(self.references.use([template]))
        elif is_short_reference(template):
            pairs = short_anchors(template)
            self._builder.add_text(", ".join(text for _, text in pairs))
            self._builder.add_mark(self.references.use_short(template))
        elif (text := quoted(template)) is not None:
            if not self._builder.is_empty:
                self._end_block()
            self._add(text)
            self._end_block()
        elif template.name in POSITIONS:
            self._add_moved(next(iter(template.unnamed), []), POSITIONS[template.name])
        elif (shown := inline_text(template)) is not None:
            if counts(template):
                self._part_digits()
            self._add(shown)
            if not shown:
                self._skip([template])
                self._builder.leave_out()
        elif in_text:
            self.unknown[template.written] += 1
            if shown := visible_arguments(template):
                self._part_digits()
                self._add(shown)
            else:
                self._skip([template])
            self._builder.leave_out()
        else:
            self._skip([template])
            self._builder.leave_out()

    def _add_tag(self, tag: Tag) -> None:
        if tag.name in POSITIONS:
            self._add_moved(tag.content, POSITIONS[tag.name])
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
            self._skip(link.text or ())
        elif link.text is None:
            self._builder.add_text(target.lstrip(":").replace("_", " "))
        else:
            self._add(link.text)

    def _add_external(self, link: ExternalLink) -> None:
        if link.text is not None:
            self._add(link.text)
        elif link.is_bare or self._builder.is_empty:
            self._builder.add_text(link.url)
        else:  # [http://example.org] is shown as a number
            self._builder.add_mark(self.references.use([link]))

    def _mark(self, node: Template | Tag) -> bool:
        """Add the marks of a node, if it is a reference."""
        keys = list(self._used(node))
        for key in keys:
            self._builder.add_mark(key)
        return bool(keys)

    def _used(self, node: Template | Tag) -> Iterator[str]:
        if isinstance(node, Tag):
            if node.name == "ref":
                self._skip_within(node.content)
                name, group = node.attributes.get("name", ""), node.attributes.get("group", "")
                if node.content or name:
                    yield self.references.use(node.content, name, group)
            return
        parameters = node.parameters
        name, group = (plain_text(parameters.get(key)) for key in ("name", "group"))
        if node.name in ("refn", "#tag:ref") or node.name in _NOTES:
            content = parameters.get("1", parameters.get("text", []))
            self._skip(content)
            is_note = node.name in _NOTES
            yield self.references.use(content, name, group, is_note=is_note)
        elif node.name in _NAMED:
            names = [key for key in parameters if key.isdigit() or re.fullmatch(r"n\d", key)]
            for key in sorted(names, key=lambda each: int(each.lstrip("n"))):
                if name := plain_text(parameters[key]):
                    yield self.references.use((), name, group)
        elif node.name in FOOTNOTES:
            yield self.references.use_short(node)

    def _skip_within(self, nodes: Sequence[Node]) -> None:
        """Note the citation templates of a reference, which short references may name."""
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
                    for value in node.parameters.values():
                        self._skip(value)
            elif isinstance(node, Tag):
                if node.name == "references":
                    self._define(node.content)
                elif not list(self._used(node)):
                    self._skip(node.content)
            else:
                self._skip(node.text or ())

    def _define(self, nodes: Sequence[Node]) -> None:
        """Read the definitions of a list of references, which are not used there."""
        for node in nodes:
            if isinstance(node, Tag) and node.name == "ref":
                self._skip_within(node.content)
                attributes = node.attributes
                self.references.define(
                    node.content, attributes.get("name", ""), attributes.get("group", "")
                )


def _outside_tables(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield (line, whether it is part of a table); a table ends at a heading at the latest."""
    depth = 0
    for line in lines:
        start = line.lstrip(" \t:*")
        if start.startswith("{|"):
            depth += 1
            yield start[2:], True
        elif depth and start.startswith("|}"):
            depth -= 1
            yield start[2:], True
        elif depth and _heading(line):
            depth = 0
            yield line, False
        else:
            yield line, depth > 0


def _heading(line: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading; None for another line."""
    line = line.strip()
    if not line.startswith("=") or not line.endswith("="):
        return None
    start = len(line) - len(line.lstrip("="))
    end = len(line) - len(line.rstrip("="))
    level = min(start, end, 6, (len(line) - 1) // 2)
    text = line[level:-level].strip() if level else ""
    return (level, text) if text else None


def _is_language(link: Link) -> bool:
    """Return whether a link is one between the wikis of two languages, which no text shows."""
    return link.text is None and bool(_OTHER_WIKI.match(link.target))


def _is_text(node: Node) -> bool:
    return isinstance(node, Link) or (isinstance(node, str) and any(map(str.isalnum, node)))
