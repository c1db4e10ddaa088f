"""The references of a page of wikitext: definitions, reuse by name, and a bibliography."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from admiral.citations.citation_records import Citation
from admiral.citations.extract.citation_templates import (
    ISBN,
    anchors,
    archived_page,
    citation_of,
    describes_source,
    is_citation_template,
    is_short_reference,
    nodes_within,
    same_page,
    short_anchors,
    title_of,
    unwrapped,
    web_url,
    without_trailing_punctuation,
)
from admiral.citations.extract.marked_blocks import Reference, is_note_group, tag_of
from admiral.citations.extract.wikitext_nodes import ExternalLink, Node, Template, plain_text

_LONGEST_TITLE = 300


class WikitextReferences:
    """Collects the references of a page while it is read; `resolved` is called at its end."""

    def __init__(self) -> None:
        self._contents: dict[str, Sequence[Node]] = {}
        self._names: dict[str, str] = {}
        self._notes: set[str] = set()
        self._bibliography: dict[str, Template] = {}
        self._count = 0

    def use(
        self, content: Sequence[Node], name: str = "", group: str = "", *, is_note: bool = False
    ) -> str:
        """Return the key of a reference that is used, and number it if it is new.

        `content`: what the reference holds; empty if it is defined elsewhere. `is_note`: whether it
        is a note whatever its group.
        """
        key = self.define(content, name, group)
        if is_note or is_note_group(group):
            self._notes.add(key)
        else:
            self._number(key, name)
        return key

    def define(self, content: Sequence[Node], name: str = "", group: str = "") -> str:
        """Return the key of a reference, whose content is kept if it is the first one."""
        key = f"{group}\n{name}" if name else f"{group}\n\n{len(self._contents)}"
        if not name or any(not isinstance(node, str) or node.strip() for node in content):
            self._contents.setdefault(key, content)
        return key

    def use_short(self, template: Template) -> str:
        """Return the key of a short reference such as ``{{sfn|Smith|2010|p=4}}``."""
        text = ", ".join(text for _, text in short_anchors(template))
        pages = "".join(
            plain_text(value) for key, value in template.parameters.items() if key in _PAGES
        )
        key = f"short\n{text} {pages}"
        self._contents.setdefault(key, [template])
        self._number(key)
        return key

    def add_to_bibliography(self, template: Template) -> None:
        """Note a citation template, which short references may name."""
        for each in anchors(template):
            self._bibliography.setdefault(each, template)

    def resolved(self) -> dict[str, Reference]:
        """Return all references by key; those without a definition have one empty citation."""
        return {
            key: Reference(is_note=True)
            if key in self._notes
            else self._reference(self._contents.get(key, ()), name)
            for key, name in [*self._names.items(), *((key, "") for key in self._notes)]
        }

    def _number(self, key: str, name: str = "") -> None:
        if key not in self._names:
            self._count += 1
            self._names[key] = name or str(self._count)

    def _reference(self, content: Sequence[Node], name: str) -> Reference:
        citations: list[Citation] = []
        tags: list[str] = []
        around = plain_text(content)
        for node in _outermost(content):
            if isinstance(node, Template):
                if tag := tag_of(node.name):
                    tags.append(tag)
                elif is_short_reference(node):
                    citations += self._short(node, name)
                else:
                    _add(citations, _of_template(node, name))
            elif isinstance(node, ExternalLink):
                url, archive_url = unwrapped(_link_url(node))
                title = title_of(plain_text(node.text), around)
                _add(citations, Citation(url, name, title, archive_url))
        if not citations:
            text = around if any(map(str.isalnum, around)) else _arguments(content)
            isbn = ISBN.search(around)
            citations.append(
                Citation("", name, text[:_LONGEST_TITLE], isbn=isbn[1] if isbn else "")
            )
        return Reference(tuple(citations), tuple(dict.fromkeys(tags)))

    def _short(self, template: Template, name: str) -> list[Citation]:
        citations = []
        for each, text in short_anchors(template):
            source = self._bibliography.get(each)
            citations.append(
                Citation("", name, text, template=template.name)
                if source is None
                else citation_of(source, name)
            )
        return citations


_ARCHIVES = ("webarchive", "wayback", "webarchiv", "webarchief")
_PAGES = ("p", "pp", "page", "pages", "loc", "at")


def _outermost(content: Sequence[Node]) -> list[Node]:
    found: list[Node] = []
    for node in content:
        if isinstance(node, Template):
            if (
                is_citation_template(node)
                or is_short_reference(node)
                or tag_of(node.name)
                or node.name in _ARCHIVES
                or describes_source(node)
            ):
                found.append(node)
            else:  # such as {{small|...}}
                for value in node.parameters.values():
                    found += _outermost(value)
        elif isinstance(node, ExternalLink):
            found.append(node)
        elif not isinstance(node, str):
            found += [each for each in nodes_within([node]) if isinstance(each, ExternalLink)]
    return found


def _of_template(template: Template, name: str) -> Citation:
    copy = citation_of(template, name)
    if template.name not in _ARCHIVES:
        return copy
    archive_url = copy.archive_url or copy.url
    given = {key: plain_text(value) for key, value in template.parameters.items()}
    time = given.get("wayback") or given.get("date") or ""
    if not copy.archive_url and time.isdecimal():  # {{wayback}} has the URL of the page itself
        archive_url = f"https://web.archive.org/web/{time}/{copy.url}"
    title = copy.title or given.get("text", "")
    return replace(copy, archive_url=archive_url, title=title, template="")


def _link_url(link: ExternalLink) -> str:
    url = without_trailing_punctuation(link.url) if link.is_bare else link.url
    return web_url(url)


def _add(citations: list[Citation], citation: Citation) -> None:
    """Append a citation, or add it to an earlier one that it is an archived copy of."""
    if not citation.url and not citation.template:
        return
    for at, earlier in enumerate(citations):
        if earlier.url and same_page(earlier.url, citation.url):
            archive_url = earlier.archive_url or citation.archive_url
            citations[at] = replace(earlier, archive_url=archive_url)
            return
    if citation.archive_url and not archived_page(citation.archive_url) and citations:
        # An archive whose URL does not say what it is a copy of: of the link before it.
        citations[-1] = replace(citations[-1], archive_url=citation.archive_url)
        return
    citations.append(citation)


def _arguments(content: Sequence[Node]) -> str:
    """Return the name of the template that a reference consists of, with its parameters."""
    template = next((each for each in content if isinstance(each, Template)), None)
    if template is None:
        return ""
    values = filter(None, map(plain_text, template.parameters.values()))
    return f"{template.written}: {', '.join(values)}".rstrip(": ")
