"""The references of a page of wikitext: citation templates, definitions, and a bibliography.

Short references name the anchors of templates; definitions are reused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from admiral.citations.citation_records import Citation
from admiral.citations.extract.marked_blocks import NamedReference, Place, Reference
from admiral.citations.extract.names import NAMES, is_note_group, names_of, tag_of
from admiral.citations.extract.source_links import (
    ISBN,
    LONGEST_TITLE,
    add_citation,
    bare_url,
    title_of,
    unwrapped,
    web_url,
)
from admiral.citations.extract.wikitext_nodes import (
    ExternalLink,
    Link,
    Node,
    Tag,
    Template,
    plain_text,
)

_PARAMETERS = {key: names_of("parameters", key) for key in NAMES["parameters"]}
_LAST_NAMES, _FIRST_NAMES, _AUTHORS = (
    _PARAMETERS.pop(key) for key in ("last_names", "first_names", "authors")
)
_MOST_AUTHORS = 9
# Identifiers that the templates link to where there is no URL.
_IDENTIFIERS = (
    ("doi", "https://doi.org/{}"),
    ("pmc", "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC{}/"),
    ("arxiv", "https://arxiv.org/abs/{}"),
    ("eprint", "https://arxiv.org/abs/{}"),
    ("jstor", "https://www.jstor.org/stable/{}"),
    ("hdl", "https://hdl.handle.net/{}"),
    ("pmid", "https://pubmed.ncbi.nlm.nih.gov/{}/"),
)
_CITING = re.compile(
    r"(cite|vcite|citation|lien|ouvrage|cita|citar|citeer|literatur|internetquelle|webbref)\b.*"
    r"|citeweb|citenews|citebook|wikicite"
)
_NOT_CITING = re.compile(
    r"citation (needed|requested|style|error|span).*|cite (quote|needed|check|error|doi needed).*"
)
_SHORT = re.compile(
    r"(sfn|sfnp|sfnm|sfnmp|harv|harvnb|harvtxt|harvcol|harvcolnb|harvs|harvp|harvc)"
)
#: Templates of short references that are marks themselves; the others are text or within marks.
FOOTNOTES = frozenset(names_of("marks", "footnotes"))
_YEAR = re.compile(r"(?:c\. ?)?\d{3,4}[a-z]?|n\.d\.[a-z]?|forthcoming", re.IGNORECASE)
_YEAR_IN_DATE = re.compile(r"\b(\d{4}[a-z]?)\b")
_MULTIPLE = re.compile(r"(\d)(?:a(\d)|(y))")
_MAX_NAMES = 4
# Parameters whose names are in anchors: those of authors, or else of editors.
_ANCHORED = (
    ("last{}", "author{}", "surname{}"),
    ("editor-last{}", "editor{}", "editor-surname{}", "editor{}-last", "editor{}-surname"),
)
_DESCRIBING = frozenset((*_PARAMETERS["url"], *_PARAMETERS["title"], *_PARAMETERS["isbn"]))


def is_citation_template(template: Template) -> bool:
    """Return whether a template describes a source by its name, as ``{{cite web}}`` does."""
    name = template.name
    if not _CITING.fullmatch(name) or _NOT_CITING.fullmatch(name):
        return False
    # {{citation|...}} in French and {{cita|...}} in Spanish are quotations.
    return not name.startswith("cita") or "1" not in template.parameters


def is_short_reference(template: Template) -> bool:
    """Return whether a template names a source by authors and year, as ``{{sfn}}`` does."""
    return bool(_SHORT.fullmatch(template.name))


def citation_of(template: Template, name: str = "") -> Citation:
    """Return the source that a citation template describes."""
    given = template.texts
    fields = {field: _first(given, keys) for field, keys in _PARAMETERS.items()}
    for field in ("url", "archive_url"):
        urls = (_url(template.parameters.get(key)) for key in _PARAMETERS[field])
        fields[field] = next(filter(None, urls), "")
    if not fields["url"]:
        ids = ((given.get(key, ""), form) for key, form in _IDENTIFIERS)
        urls = (form.format(id) for id, form in ids if id and not re.search(r"\s", id))
        fields["url"] = next(urls, "")
    fields["url"], fields["archive_url"] = unwrapped(fields["url"], fields["archive_url"])
    fields["title"] = fields["title"][:LONGEST_TITLE]
    fields["author"] = "; ".join(_full_names(given))[:LONGEST_TITLE]
    return Citation(**fields, name=name, template=template.name)


def anchors(template: Template) -> Iterator[str]:
    """Yield the anchors of a citation template, which short references name."""
    given = template.texts
    for node in template.parameters.get("ref", ()):
        if isinstance(node, Template) and node.name in ("harvid", "sfnref"):
            yield anchor(list(map(plain_text, node.unnamed)))
    if given.get("ref", "").startswith("CITEREF"):
        yield given["ref"].replace("_", " ")
    years = [given.get("year", ""), *_YEAR_IN_DATE.findall(given.get("date", ""))]
    for keys in _ANCHORED:
        numbers = ("", *range(1, _MAX_NAMES + 1))
        names = [_first(given, [key.format(number) for key in keys]) for number in numbers]
        if any(names):
            known = list(filter(None, names))[:_MAX_NAMES]
            yield from (anchor([*known, year]) for year in filter(None, years))
            return


def anchor(parts: Sequence[str]) -> str:
    """Return the anchor of authors and a year."""
    return "CITEREF" + "".join(part.strip() for part in parts)


def short_anchors(template: Template) -> list[tuple[str, str]]:
    """Return the (anchor, text) pairs of a template of short references."""
    if not template.name.startswith("sfnm"):
        parts = list(filter(None, map(plain_text, template.unnamed)))
        years = [at for at, part in enumerate(parts) if _YEAR.fullmatch(part)]
        parts = parts[: years[0] + 1] if years else parts[: _MAX_NAMES + 1]
        return [(anchor(parts), " ".join(parts))] if parts else []
    sources: dict[str, dict[str, str]] = {}
    for key, text in template.texts.items():
        if match := _MULTIPLE.fullmatch(key):
            sources.setdefault(match[1], {})[match[2] or match[3]] = text
    # Of each source, names 1 to 4, then y.
    rows = ([text for _, text in sorted(source.items())] for _, source in sorted(sources.items()))
    return [(anchor(parts), " ".join(parts)) for parts in rows]


def nodes_within(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield nodes and all that they contain, in order."""
    for node in nodes:
        yield node
        yield from nodes_within(children(node))


def children(node: Node) -> Sequence[Node]:
    """Return the nodes that a node contains."""
    match node:
        case Template():
            return list(chain.from_iterable(node.parameters.values()))
        case Tag():
            return node.content
        case Link() | ExternalLink():
            return node.text or ()
    return ()


def _url(value: Sequence[Node] | None) -> str:
    """Return the URL that a parameter holds, which may be followed by other things."""
    for node in nodes_within(value or ()):
        if isinstance(node, ExternalLink) and (url := web_url(node.url)):
            return url
    text = plain_text(value)
    if re.match(r"www\.[\w-]+\.\w", text) and " " not in text:
        return f"http://{text}"
    return web_url(text)


def _first(given: Mapping[str, str], keys: Sequence[str]) -> str:
    return next((given[key] for key in keys if given.get(key)), "")


def _full_names(given: Mapping[str, str]) -> list[str]:
    """Return the authors as "Last, First", or else as the template gives them."""
    names = []
    for number in ("", *range(1, _MOST_AUTHORS + 1)):
        last, first, whole = (
            _first(given, [f"{stem}{number}" for stem in stems])
            for stems in (_LAST_NAMES, _FIRST_NAMES, _AUTHORS)
        )
        names.append(", ".join(filter(None, (last, first))) or whole)
    return list(dict.fromkeys(filter(None, names)))


NAMED = frozenset(names_of("marks", "named"))  # {{r|name|name}}
LISTS = frozenset(names_of("marks", "lists"))


def names_used(template: Template) -> list[str]:
    """Return the names of references in ``{{r|name|name}}``."""
    keys = [key for key in template.parameters if re.fullmatch(r"n?\d+", key)]
    keys.sort(key=lambda each: int(each.lstrip("n")))
    return list(filter(None, map(template.text, keys)))


class WikitextReferences:
    """Collects the references of a page while it is read; `resolved` is called at its end."""

    def __init__(self) -> None:
        self._contents: dict[str, Sequence[Node]] = {}
        self._names: dict[str, str] = {}  # of references that are used
        self._notes: set[str] = set()
        self._bibliography: dict[str, Template] = {}
        self.named: list[NamedReference] = []

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
            self._names.setdefault(key, name or str(len(self._names) + 1))
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
        pages = "".join(text for key, text in template.texts.items() if key in _PAGES)
        key = f"short\n{text} {pages}"
        self._contents.setdefault(key, [template])
        self._names.setdefault(key, str(len(self._names) + 1))
        return key

    def collect(self, nodes: Sequence[Node], *, listed: bool = False) -> None:
        """Note what short references and names refer to, wherever on the page it stands.

        `listed`: whether the nodes are within a list of references.
        """
        for node in nodes:
            match node:
                case Template(place=place) if node.name in NAMED:
                    keys = [f"{node.text('group')}\n{name}" for name in names_used(node)]
                    self._note_named(place, keys)
                case Template() if is_citation_template(node):
                    for each in anchors(node):
                        self._bibliography.setdefault(each, node)
                case Tag(name="ref", place=place) if name := node.attributes.get("name"):
                    group = node.attributes.get("group", "")
                    key, is_defined = self.define(node.content, name, group), bool(node.content)
                    self._note_named(place, [key], defines=is_defined, listed=listed)
            is_list = isinstance(node, Tag | Template) and node.name in LISTS
            self.collect(children(node), listed=listed or is_list)

    def _note_named(self, place: Place | None, keys: Sequence[str], **facts: bool) -> None:
        if place is not None and keys:
            self.named.append(NamedReference(place, tuple(keys), **facts))

    def resolved(self) -> dict[str, Reference]:
        """Return all references by key; those without a definition have one empty citation."""
        sources = {
            key: self._reference(self._contents.get(key, ()), name)
            for key, name in self._names.items()
        }
        return sources | dict.fromkeys(self._notes, Reference(is_note=True))

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
                    add_citation(citations, _of_template(node, name))
            elif isinstance(node, ExternalLink):
                url, archive_url = unwrapped(
                    web_url(bare_url(node.url) if node.is_bare else node.url)
                )
                title = title_of(plain_text(node.text), around)
                add_citation(citations, Citation(url, name, title, archive_url))
        if not citations:
            text = around if any(map(str.isalnum, around)) else _arguments(content)
            isbns = ISBN.findall(around)
            citations.append(Citation("", name, text[:LONGEST_TITLE], isbn="".join(isbns[:1])))
        return Reference(tuple(citations), tuple(dict.fromkeys(tags)))

    def _short(self, template: Template, name: str) -> Iterator[Citation]:
        for each, text in short_anchors(template):
            if (source := self._bibliography.get(each)) is not None:
                yield citation_of(source, name)
            else:
                yield Citation("", name, text, template=template.name)


_ARCHIVES = names_of("marks", "archives")
_PAGES = ("p", "pp", "page", "pages", "loc", "at")


def _outermost(content: Sequence[Node]) -> Iterator[Node]:
    for node in content:
        if isinstance(node, Template):
            if (
                is_citation_template(node)
                or is_short_reference(node)
                or tag_of(node.name)
                or node.name in _ARCHIVES
                or node.parameters.keys() & _DESCRIBING
            ):
                yield node
            else:  # such as {{small|...}}
                yield from _outermost(list(chain.from_iterable(node.parameters.values())))
        elif isinstance(node, ExternalLink):
            yield node
        elif not isinstance(node, str):
            yield from (each for each in nodes_within([node]) if isinstance(each, ExternalLink))


def _of_template(template: Template, name: str) -> Citation:
    copy = citation_of(template, name)
    if template.name not in _ARCHIVES:
        return copy
    archive_url = copy.archive_url or copy.url
    given = template.texts
    time = given.get("wayback") or given.get("date") or ""
    if not copy.archive_url and time.isdecimal():  # {{wayback}} has the URL of the page itself
        archive_url = f"https://web.archive.org/web/{time}/{copy.url}"
    title = copy.title or given.get("text", "")
    return replace(copy, archive_url=archive_url, title=title, template="")


def _arguments(content: Sequence[Node]) -> str:
    """Return the name of the template that a reference consists of, with its parameters."""
    template = next((each for each in content if isinstance(each, Template)), None)
    if template is None:
        return ""
    return f"{template.written}: {', '.join(filter(None, template.texts.values()))}".rstrip(": ")
