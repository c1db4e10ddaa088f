"""Read reStructuredText, also of Sphinx, and the metadata of Python packages."""

from __future__ import annotations

import re
from email.parser import Parser
from textwrap import dedent
from typing import TYPE_CHECKING

from admiral.kb.corpus.files.extraction import TextBuilder, closed
from admiral.kb.corpus.files.markdown_files import add_markdown
from admiral.kb.corpus.files.plain_text_files import add_plain_text
from proofs.logic.words import word_list

if TYPE_CHECKING:
    from docutils import nodes

# No files are read, nothing is executed, and what docutils reports stays inside the tree.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "syntax_highlight": "none",
    "line_length_limit": 1_000_000,
    "smart_quotes": False,
}
_ROLE = re.compile(r":[\w:+.-]+:`([^`]*)`")
_LINK_TEXT = re.compile(r"[!~]?(.*?)\s*(?:<[^<>]*>)?", re.DOTALL)
_DIRECTIVE = re.compile(r"\.\.\s+([\w:+.-]+)::[^\n]*\n?")
_OPTION = re.compile(r"\s*:[\w-]+:[^\n]*(?:\n|$)")
# Directives of Sphinx whose content is prose; docutils does not know them.
_PROSE = word_list(
    "attribute class classmethod cmdoption confval data deprecated deprecated-removed describe "
    "envvar exception function glossary hlist method module object only option program property "
    "seealso staticmethod tab tab-item tab-set tabs todo versionadded versionchanged "
    "versionremoved dropdown details grid grid-item grid-item-card card"
)
_MAX_DEPTH = 6


def read_restructuredtext(data: bytes, text: TextBuilder) -> None:
    """Read a reStructuredText file in UTF-8."""
    add_restructuredtext(data.decode("utf-8-sig"), text)


def add_restructuredtext(source: str, text: TextBuilder) -> None:
    """Add the text of a reStructuredText document."""
    _Tree(text).add(source, 0)


class _Tree:
    """Add the nodes of documents that docutils has parsed."""

    def __init__(self, text: TextBuilder) -> None:
        from docutils import core, nodes

        self._text, self._nodes, self._publish = text, nodes, core.publish_doctree
        self._skipped = (
            nodes.comment, nodes.literal_block, nodes.doctest_block, nodes.math_block, nodes.raw,
            nodes.substitution_definition, nodes.target, nodes.pending, nodes.footer, nodes.header,
            nodes.image, nodes.citation, nodes.topic,
        )  # fmt: skip

    def add(self, source: str, depth: int, level: int = 0) -> None:
        document = self._publish(source, settings_overrides=_SETTINGS)
        self._children(document, level, depth)

    def _children(self, node: nodes.Element, level: int, depth: int) -> None:
        for child in node.children:
            self._node(child, level, depth)

    def _node(self, node: nodes.Node, level: int, depth: int) -> None:
        text, nodes = self._text, self._nodes
        if isinstance(node, nodes.system_message):
            self._unknown_directive(node, level, depth)
        elif isinstance(node, self._skipped) or not isinstance(node, nodes.Element):
            return
        elif isinstance(node, nodes.title):
            text.heading(max(level, 1), _words(node))
        elif isinstance(node, nodes.subtitle):
            text.heading(2, _words(node))
        elif isinstance(node, nodes.section):
            self._children(node, level + 1, depth)
        elif isinstance(node, nodes.docinfo):
            for field in node.children:
                if not isinstance(field, nodes.field):
                    text.definition(field.tagname.capitalize(), _words(field))
        elif isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            text.begin_list()
            self._children(node, level, depth)
        elif isinstance(node, nodes.definition_list_item | nodes.field | nodes.option_list_item):
            text.definition(_words(node[0]), "") if len(node) < 2 else self._described(node)
        elif isinstance(node, nodes.tgroup):
            self._table(node)
        elif isinstance(node, nodes.paragraph | nodes.line_block | nodes.TextElement):
            inside = node.parent
            if isinstance(inside, nodes.list_item):
                text.item(_words(node))
            else:
                text.paragraph(_words(node))
        else:
            self._children(node, level, depth)

    def _described(self, node: nodes.Element) -> None:
        terms = ", ".join(_words(child) for child in node.children[:-1])
        body = node.children[-1]
        code = (self._nodes.literal_block, self._nodes.doctest_block, self._nodes.system_message)
        words = [_words(part) for part in body.children if not isinstance(part, code)]
        self._text.definition(terms, " ".join(words))

    def _table(self, group: nodes.Element) -> None:
        header: list[str] = []
        for part in group.children:
            for row in part.children if isinstance(part, self._nodes.thead) else ():
                header = [_words(cell) for cell in row.children]
            for row in part.children if isinstance(part, self._nodes.tbody) else ():
                self._text.row([_words(cell) for cell in row.children], header)

    def _unknown_directive(self, message: nodes.Element, level: int, depth: int) -> None:
        block = next((c for c in message if isinstance(c, self._nodes.literal_block)), None)
        source = "" if block is None else block.astext()
        match = _DIRECTIVE.match(source)
        if match is None or depth == _MAX_DEPTH:
            return
        if match.group(1).rpartition(":")[2] not in _PROSE:
            return
        body = source[match.end() :]
        while option := _OPTION.match(body):
            body = body[option.end() :]
        self.add(dedent(body), depth + 1, level)


def _words(node: nodes.Node) -> str:
    return _ROLE.sub(_role_text, node.astext())


def _role_text(match: re.Match[str]) -> str:
    found = _LINK_TEXT.fullmatch(match.group(1))
    return match.group(1) if found is None else found.group(1)


_FIELDS = ("Version", "Author", "Maintainer", "License", "License-Expression", "Requires-Python")
_LONGEST_FIELD = 200  # characters; a licence may be given in full


def read_package_metadata(data: bytes, text: TextBuilder) -> None:
    """Read core metadata: name, summary, single fields, and the description as a document."""
    message = Parser().parsestr(data.decode("utf-8"))
    name = str(message.get("Name", ""))
    if not name:
        raise ValueError("no field 'Name'")
    text.propose_title(name)
    if message.get("Summary"):
        text.paragraph(f"{name}: {closed(str(message['Summary']))}")
    for field in _FIELDS:
        value = str(message.get(field, ""))
        if value and value != "UNKNOWN" and len(value) < _LONGEST_FIELD:
            text.paragraph(f"{field.replace('-', ' ')} of {name}: {closed(value)}")
    body = message.get_payload()
    description = body if isinstance(body, str) and body.strip() else message.get("Description", "")
    kind = str(message.get("Description-Content-Type", "")).partition(";")[0].strip()
    add = {"text/markdown": add_markdown, "text/plain": add_plain_text}
    add.get(kind, add_restructuredtext)(str(description), text)
