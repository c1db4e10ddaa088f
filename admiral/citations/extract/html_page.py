"""Read a page of MediaWiki in HTML, of its old parser or of Parsoid, as marked blocks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs, unquote

from lxml import etree, html

from admiral.citations.citation_records import Citation, Kind
from admiral.citations.extract.citation_templates import (
    ISBN,
    archived_page,
    same_page,
    title_of,
    unwrapped,
    web_url,
)
from admiral.citations.extract.marked_blocks import (
    PROSE,
    Block,
    BlockBuilder,
    MarkedPage,
    Reference,
    is_note_group,
    joined,
    tag_of,
)
from admiral.citations.extract.marked_tables import MarkedTable, span_of
from proofs.logic.words import word_list

_NOTE = "cite_note"
_LONGEST_TITLE = 300
_NUMBER = re.compile(r"(?:(.*\S)\s+)?(\S+)")
_ROMAN = re.compile(r"[ivxlc]+", re.IGNORECASE)


def classes_of(element: html.HtmlElement) -> frozenset[str]:
    """Return the classes of an element."""
    return frozenset((element.get("class") or "").split())


def text_of(element: html.HtmlElement, without: Collection[html.HtmlElement] = ()) -> str:
    """Return the text of an element on one line, without style sheets and given elements."""
    left_out = {*without, *element.iter("style", "script")}
    pieces = [element.text or ""]
    skipped: html.HtmlElement | None = None
    for event, each in etree.iterwalk(element, events=("start", "end", "comment")):
        if each is element:
            continue
        if event == "start" and skipped is None:
            if each in left_out:
                skipped = each
            else:
                pieces.append(each.text or "")
        elif event != "start" and skipped in (None, each):
            skipped = None
            pieces.append(each.tail or "")
    return " ".join("".join(pieces).split())


def note_id(link: html.HtmlElement) -> str:
    """Return the id of the note that a link leads to; empty for other links."""
    target = unquote((link.get("href") or "").partition("#")[2])
    return target if target.startswith(_NOTE) else ""


_BACKLINKS = frozenset({"mw-cite-backlink", "renvois_vers_le_texte"})
_NAME = ("rft.aulast", "rft.aufirst")
_REFERENCES = frozenset({"reference", "mw-ref"})  # classes of marks
_CAPTIONS = frozenset({"thumbcaption", "gallerytext", "infobox-caption"})
_BOXES = frozenset({"infobox", "infobox_v2", "infobox_v3", "taxobox", "sidebar", "vertical-navbox"})
_DEEPEST = 8  # tables in tables that are read
# Of what is left out, what holds no statements of the page.
_NO_CONTENT = word_list(
    "navbox toc reflist references mw-references-wrap metadata ambox catlinks mw-editsection "
    "printfooter mw-cite-backlink error"
)


class HtmlReferences:
    """The notes of a page by their ids."""

    def __init__(self, root: html.HtmlElement) -> None:
        self._notes: dict[str, html.HtmlElement] = {}
        self._sources: dict[str, html.HtmlElement] = {}
        for element in root.iter("li", "cite", "span"):
            name = element.get("id") or ""
            if name.startswith(_NOTE) and element.tag == "li":
                self._notes.setdefault(name, element)
            elif name.startswith("CITEREF"):
                self._sources.setdefault(name, element)

    def resolved(self, numbers: Mapping[str, str]) -> dict[str, Reference]:
        """Return the references that marks use.

        `numbers`: what the marks of each note show, such as ``3`` or ``note 1``.
        """
        return {note: self._reference(note, shown) for note, shown in numbers.items()}

    def explanatory(self, numbers: dict[str, str]) -> Iterator[html.HtmlElement]:
        """Yield the explanatory notes among those that marks use, which may be added meanwhile."""
        done: set[str] = set()
        while new := [note for note in numbers if note not in done]:
            done.update(new)
            for note in new:
                if _is_note(numbers[note]) and (element := self._notes.get(note)) is not None:
                    yield element

    def _reference(self, note: str, shown: str) -> Reference:
        if _is_note(shown):
            return Reference(is_note=True)
        element = self._notes.get(note)
        if element is None:
            return Reference((Citation("", shown),))
        citations: list[Citation] = []
        backlinks = [e for e in element.iter() if isinstance(e.tag, str) and _is_backlink(e)]
        around = text_of(element, backlinks).strip("↑^ ")
        for cite in self._cites(element):
            citations.append(_of_cite(cite, shown))
        for link in element.iter("a"):
            if not _has_ancestor(link, "cite", element) and (url := _external(link)):
                last = citations[-1] if citations else None
                if last is not None and last.template and not last.url:  # after its <cite>
                    page, archive_url = unwrapped(url)
                    citations[-1] = replace(last, url=page, archive_url=archive_url)
                elif not _is_host(link, url, citations):
                    _add(citations, _of_link(link, url, shown, around))
        tags = [
            tag
            for each in element.iter("sup", "span")
            if classes_of(each) & {"Inline-Template", "noprint"}
            and (tag := tag_of(text_of(each).strip("[] ")))
        ]
        if not citations:
            data = _coins(element)
            text = (data.get("title") or around)[:_LONGEST_TITLE]
            isbn = data.get("isbn") or next(iter(ISBN.findall(around)), "")
            author = data.get("author", "")
            citations.append(Citation("", shown, text, author=author, isbn=isbn))
        return Reference(tuple(citations), tuple(dict.fromkeys(tags)))

    def _cites(self, element: html.HtmlElement) -> Iterator[html.HtmlElement]:
        """Yield the descriptions of sources in a note, and those that its links lead to."""
        for each in element.iter("cite", "a"):
            if each.tag == "cite":
                if not _has_ancestor(each, "cite", element):
                    yield each
                continue
            target = unquote((each.get("href") or "").partition("#")[2])
            if target.startswith("CITEREF") and target in self._sources:
                yield self._sources[target]


def _of_cite(cite: html.HtmlElement, name: str) -> Citation:
    """Return the source that ``<cite>`` describes; its COinS data say more than its text."""
    data = _coins(cite)
    links = [(url, link) for link in cite.iter("a") if (url := _external(link))]
    pages = [(url, link) for url, link in links if not archived_page(url)]
    archives = [url for url, _ in links if archived_page(url)]
    text = text_of(cite)
    titles = (title_of(text_of(link)) for _, link in [*pages, *links])
    title = data.get("title") or next(filter(None, titles), "") or title_of("", text)
    url, archive_url = unwrapped(pages[0][0] if pages else "", archives[0] if archives else "")
    kinds = classes_of(cite) - {"citation", "cs1", "cs2", "Z3988"}
    return Citation(
        url,
        name,
        (title or text)[:_LONGEST_TITLE],
        archive_url,
        data.get("date", ""),
        f"cite {min(kinds)}" if kinds else "citation",
        work=data.get("work", ""),
        publisher=data.get("publisher", ""),
        author=data.get("author", ""),
        isbn=data.get("isbn", ""),
    )


def _coins(cite: html.HtmlElement) -> dict[str, str]:
    following = cite.getnext()
    spans = [] if following is None or following.tag != "span" else [following]
    for span in [*spans, *cite.iter("span")]:
        if "Z3988" not in classes_of(span):
            continue
        try:
            given = parse_qs(span.get("title") or "")
        except ValueError:
            return {}
        keys = {
            "title": ("rft.atitle", "rft.btitle", "rft.title"),
            "date": ("rft.date",),
            "work": ("rft.jtitle",),
            "publisher": ("rft.pub",),
            "isbn": ("rft.isbn",),
        }
        found = {
            name: next((given[key][0] for key in options if key in given), "")
            for name, options in keys.items()
        }
        names = [", ".join(given[key][0] for key in _NAME if key in given)]
        authors = [each for each in given.get("rft.au", names) if each]
        return {**found, "author": "; ".join(dict.fromkeys(authors))[:_LONGEST_TITLE]}
    return {}


def _of_link(link: html.HtmlElement, url: str, name: str, around: str) -> Citation:
    page, archive_url = unwrapped(url)
    return Citation(page, name, title_of(text_of(link), around), archive_url)


def _is_host(link: html.HtmlElement, url: str, citations: Sequence[Citation]) -> bool:
    """Return whether a link leads to the site of a source before it, whose name it shows."""
    site = re.sub(r"^https?://", "", url).rstrip("/")
    return site == text_of(link).rstrip("/") and any(site in each.url for each in citations)


def _add(citations: list[Citation], citation: Citation) -> None:
    for at, earlier in enumerate(citations):
        if same_page(earlier.url, citation.url):
            archive_url = earlier.archive_url or citation.archive_url
            title = earlier.title or citation.title
            citations[at] = replace(earlier, archive_url=archive_url, title=title)
            return
    citations.append(citation)


def _external(link: html.HtmlElement) -> str:
    """Return the URL of a link out of the wiki; empty for others."""
    if classes_of(link) & {"external", "extiw"} or "mw:ExtLink" in (link.get("rel") or ""):
        return web_url(link.get("href") or "")
    return ""


def _is_note(shown: str) -> bool:
    """Return whether a mark is that of an explanatory note, by what it shows."""
    match = _NUMBER.fullmatch(shown)
    if match is None:
        return False
    group, number = match[1] or "", match[2]
    if group:
        return is_note_group(group)
    return number.isalpha() and (len(number) <= 2 or bool(_ROMAN.fullmatch(number)))


def _is_backlink(element: html.HtmlElement) -> bool:
    return (
        bool(classes_of(element) & _BACKLINKS)
        or element.get("rel") == "mw:referencedBy"
        or (element.get("href") or "").startswith("#cite_ref")
    )


def _has_ancestor(element: html.HtmlElement, tag: str, root: html.HtmlElement) -> bool:
    parent = element.getparent()
    while parent is not None and parent is not root:
        if parent.tag == tag:
            return True
        parent = parent.getparent()
    return False


# Elements whose text is not prose of the page, and those that begin a block.
_LEFT_OUT = word_list(
    "table figure style script template noscript head math svg audio video object iframe nav aside "
    "form button select textarea pre title link meta figcaption"
)
_LEFT_OUT_CLASSES = word_list(
    "infobox thumb gallery navbox hatnote mw-editsection metadata reflist references "
    "mw-references-wrap toc sidebar shortdescription navigation-not-searchable printfooter "
    "catlinks mw-empty-elt mw-indicators sistersitebox vertical-navbox portalbox ambox noexcerpt "
    "mwe-math-element "
    "mw-jump-link error mw-cite-backlink reference-accessdate Z3988 mw-ext-cite-error"
)
_BLOCKS = word_list(
    "p div section blockquote ul ol dl li dd dt h1 h2 h3 h4 h5 h6 article main center hr body "
    "header footer poem"
)
_ITEMS = frozenset({"li", "dd", "dt"})
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_PAGE_NAME = re.compile(r"\s+[-–—]\s+[^-–—]*(wiki|pedia)[^-–—]*$", re.IGNORECASE)
_INLINE_TAGS = frozenset({"Inline-Template", "Template-Fact", "inline-template"})
# A mark that contains no other; of two attributes of one name, the first counts.
_MARK = re.compile(r"<sup\b(?:(?!<sup\b).)*?</sup\s*>", re.IGNORECASE | re.DOTALL)
_PLACE = "data-place"
_IGNORED_PARTS = re.compile(r"[\[\]⁠\u200b]")


def read_html(text: str, title: str = "") -> MarkedPage:
    """Return a page in HTML as marked blocks.

    Of tables, infoboxes, captions, headings and explanatory notes, what carries marks is kept.
    Hidden text, navigation and lists of references, which are read as such, are left out. `title`:
    title of the page; by default that which the page states.
    """
    place = _PLACE
    while place in text.lower():  # the page has no say in where its marks stand
        place += "-"
    root = _parsed(_MARK.sub(partial(_placed, place), text))
    if root is None:
        return MarkedPage(title)
    references = HtmlReferences(root)
    reader = _Reader(references, place)
    bodies = root.xpath("//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]")
    reader.read(bodies[0] if len(bodies) == 1 else root)
    reader.read_notes()
    return MarkedPage(
        title or _title(root), tuple(reader.blocks), references.resolved(reader.numbers)
    )


def _placed(name: str, match: re.Match[str]) -> str:
    """Return an element of a mark with its place in the page as an attribute."""
    element = match[0]
    return f'{element[:4]} {name}="{match.start()}-{match.end()}"{element[4:]}'


def _parsed(text: str) -> html.HtmlElement | None:
    # NUL ends a string in libxml2; a declared encoding would be an error in a string.
    data = text.replace("\0", " ").encode("utf-8", "replace")
    parser = html.HTMLParser(encoding="utf-8", remove_pis=True, no_network=True)
    try:
        return html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):  # such as an empty document
        return None


def _title(root: html.HtmlElement) -> str:
    for path in ("//*[@id='firstHeading']", "//head/title"):
        for element in root.xpath(path):
            if found := text_of(element):
                return _PAGE_NAME.sub("", found)
    return ""


class _Reader:
    """Walks through the elements in the order of the document."""

    def __init__(self, references: HtmlReferences, place: str, depth: int = 0) -> None:
        self._place = place  # the attribute that says where a mark stands
        self._depth = depth  # number of tables, captions and notes around
        self.blocks: list[Block] = []
        self.numbers: dict[str, str] = {}  # note -> what its marks show
        self._references = references
        self._headings: list[tuple[int, str]] = []
        self._builder = BlockBuilder()

    def read(self, root: html.HtmlElement) -> None:
        """Read all that an element contains."""
        skipped: html.HtmlElement | None = None
        kinds: list[Kind] = ["sentence"]
        for event, element in etree.iterwalk(root, events=("start", "end", "comment")):
            if event == "comment":
                if skipped is None and element.tail:
                    self._builder.add_text(element.tail)
                continue
            tag = element.tag
            if event == "start":
                if skipped is not None:
                    continue
                if element is not root and self._is_read(element):
                    skipped = element
                    continue
                if tag in _BLOCKS:
                    kinds.append("list" if tag in _ITEMS else kinds[-1])
                    self._end_block(kinds[-1])
                elif tag == "br":
                    self._builder.add_text(" ")
                if element.text:
                    self._builder.add_text(element.text)
                continue
            if skipped is not None:
                if skipped is not element:
                    continue
                skipped = None
                if tag in _LEFT_OUT or tag in _BLOCKS:
                    self._end_block(kinds[-1])
            elif tag in _BLOCKS:
                kinds.pop()
                self._end_block(kinds[-1])
            if element is not root and element.tail:
                self._builder.add_text(element.tail)
        self._end_block("sentence")

    def _is_read(self, element: html.HtmlElement) -> bool:
        """Handle an element whose content is no prose: a mark, a heading, or left out."""
        tag, classes = element.tag, classes_of(element)
        if tag == "sup" and self._add_marks(element, classes):
            return True
        if classes & _INLINE_TAGS:
            shown = _IGNORED_PARTS.sub("", text_of(element)).strip()
            for part in re.split(r"[,;]| and ", shown):
                if name := tag_of(part):
                    self._builder.add_mark(tag=name, place=self._place_of(element))
            return True
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._add_heading(element, int(tag[1]))
            return True
        if tag in _LEFT_OUT or classes & _LEFT_OUT_CLASSES:
            if self._depth < _DEEPEST and not classes & _NO_CONTENT and _marks_in(element):
                self._add_apart(element)
            return True
        if element.get("hidden") is not None or element.get("aria-hidden") == "true":
            return True
        if "noprint" in classes and not classes & _INLINE_TAGS:
            return True
        if element.get("role") in ("navigation", "presentation", "note"):
            return True
        return bool(_HIDDEN.search(element.get("style") or ""))

    def _place_of(self, element: html.HtmlElement) -> tuple[int, int] | None:
        start, _, end = (element.get(self._place) or "").partition("-")
        return (int(start), int(end)) if end else None

    def _add_marks(self, element: html.HtmlElement, classes: frozenset[str]) -> bool:
        """Add the marks of ``<sup>[1]</sup>``; return whether it is one."""
        if not classes & _REFERENCES and element.get("rel") != "dc:references":
            return False
        for link in element.iter("a"):
            if note := note_id(link):
                shown = _IGNORED_PARTS.sub("", text_of(link)).strip()
                group = link.get("data-mw-group") or ""
                if group and not shown.startswith(group):
                    shown = f"{group} {shown}"
                self.numbers.setdefault(note, shown)
                self._builder.add_mark(note, place=self._place_of(element))
        return True

    def _add_apart(self, element: html.HtmlElement) -> None:
        """Add what carries marks in a table, or in the captions of pictures."""
        self._end_block("sentence")
        if element.tag == "table":
            self._add_table(element)
            return
        captions = [e for e in element.iter() if e.tag == "figcaption" or _is_caption(e)]
        for caption in captions or [element]:
            if caption is not element and any(e in captions for e in caption.iterancestors()):
                continue
            self._add_block(self._apart(caption), "caption")

    def _add_table(self, table: html.HtmlElement) -> None:
        is_box = bool(classes_of(table) & _BOXES)
        marked = MarkedTable(self._section(), "infobox" if is_box else "table")
        for part in _parts(table):
            if part.tag == "caption":
                marked.caption(self._apart(part))
                continue
            for cell in part.iterchildren("td", "th"):
                marked.cell(
                    self._apart(cell),
                    is_head=cell.tag == "th",
                    columns=span_of(cell.get("colspan")),
                    rows=span_of(cell.get("rowspan")),
                )
            marked.end_row()
        self.blocks += marked.blocks()

    def _apart(self, element: html.HtmlElement) -> Block:
        """Return the text of an element that is no part of the text around it."""
        reader = _Reader(self._references, self._place, self._depth + 1)
        reader.numbers, reader._headings = self.numbers, self._headings
        reader.read(element)
        self.blocks += [each for each in reader.blocks if each.kind not in PROSE]
        return joined((each for each in reader.blocks if each.kind in PROSE), self._section())

    def _add_block(self, block: Block, kind: Kind) -> None:
        """Add a block of some kind, if it has marks; without text, they follow a sentence."""
        if block.marks:
            self.blocks.append(replace(block, kind=kind) if block.text else block)

    def read_notes(self) -> None:
        """Read the explanatory notes, which may have references themselves."""
        self._headings = []
        for element in self._references.explanatory(self.numbers):
            if _marks_in(element):
                self._add_block(self._apart(element), "note")

    def _add_heading(self, element: html.HtmlElement, level: int) -> None:
        self._end_block("sentence")
        if element.get("id") == "firstHeading":
            return
        skipped = [e for e in element.iter() if classes_of(e) & {"mw-editsection", *_REFERENCES}]
        text = text_of(element, skipped)
        for mark in _marks_in(element):
            self._builder.add_text(f"{text} " if self._builder.is_empty else "")
            self._add_marks(mark, classes_of(mark))
        if block := self._builder.build():
            self._add_block(block, "heading")
        self._headings = [each for each in self._headings if each[0] < level]
        if text:
            self._headings.append((level, text))
        self._builder = BlockBuilder(self._section())

    def _section(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._headings)

    def _end_block(self, kind: Kind) -> None:
        if block := self._builder.build():
            self.blocks.append(block)
        self._builder = BlockBuilder(self._section(), kind)


def _marks_in(element: html.HtmlElement) -> list[html.HtmlElement]:
    """Return the marks that an element contains."""
    return [each for each in element.iter("sup", "span") if classes_of(each) & _REFERENCES]


def _is_caption(element: html.HtmlElement) -> bool:
    return isinstance(element.tag, str) and bool(classes_of(element) & _CAPTIONS)


def _parts(table: html.HtmlElement) -> Iterator[html.HtmlElement]:
    """Yield the caption and the rows of a table, not those of tables in it."""
    for child in table.iterchildren("caption", "tr", "thead", "tbody", "tfoot"):
        if child.tag in ("caption", "tr"):
            yield child
        else:
            yield from child.iterchildren("tr")
