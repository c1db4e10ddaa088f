"""Read a MediaWiki XML dump page by page, compressed or not, in constant memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from admiral.errors import AdmiralError
from admiral.io.remote import Place
from admiral.io.streams import open_binary

_ARTICLES = "0"  # the namespace of articles
_START = re.compile(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<mediawiki\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DumpedPage:
    """A page of a dump: its title, its id and its latest wikitext."""

    title: str
    id: str
    text: str


def is_dump(start: bytes) -> bool:
    """Return whether a file is a dump, by its first bytes."""
    return bool(_START.match(start.removeprefix(b"\xef\xbb\xbf")))


def read_dump(path: Place) -> Iterator[DumpedPage]:
    """Yield the articles of a dump; redirects and other namespaces are left out.

    Parameters
    ----------
    path
        XML file of a dump (``pages-articles``), compressed or not.

    Raises
    ------
    AdmiralError
        If the file cannot be read, is no XML of MediaWiki, or is cut off.
    """
    count = 0
    with open_binary(path) as stream:
        events = etree.iterparse(
            stream, events=("end",), huge_tree=True, resolve_entities=False, no_network=True
        )
        try:
            for _, element in events:
                name = _local(element)
                if name == "page":
                    count += 1
                    if page := _page(element):
                        yield page
                elif name not in ("mediawiki", "siteinfo"):
                    continue
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise AdmiralError(
                f"{path}: is not a whole XML dump of MediaWiki: after {count} pages: "
                f"{error.msg}. Fetch it again, or name another --format"
            ) from error
    if not count:
        raise AdmiralError(f"{path}: holds no <page>. Give an XML dump of MediaWiki")


def _page(element: etree._Element) -> DumpedPage | None:
    title, namespace, id, text = "", _ARTICLES, "", ""
    for child in element:
        name = _local(child)
        if name == "redirect":
            return None
        if name == "title":
            title = child.text or ""
        elif name == "ns":
            namespace = (child.text or "").strip()
        elif name == "id":
            id = (child.text or "").strip()
        elif name == "revision":  # the last one counts
            texts = [each for each in child if _local(each) == "text"]
            text = texts[0].text or "" if texts else ""
    return DumpedPage(title, id, text) if namespace == _ARTICLES else None


def _local(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
