"""Parse HTML and XHTML into one kind of tree."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from admiral.kb.corpus.files.extraction import UnreadableFileError

# Elements that end only with a tag. Parsing takes quadratic time in the depth of elements.
_NESTING = re.compile(
    r"<(?!(?:area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|source|td|th|tr|"
    r"wbr)\b)[a-z]",
    re.IGNORECASE,
)
_DEEPEST = 20_000
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_XHTML = re.compile(
    r"\s*(?:<\?xml\b|(?:<!DOCTYPE[^>]*>\s*)?<html\b[^>]*\bxmlns\s*=)", re.IGNORECASE
)
_XHTML_CHARACTERS = 4096
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*>", re.IGNORECASE)
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>"
)
_PREFIXED = re.compile(r"""xmlns:\w+\s*=\s*["']http://www\.w3\.org/1999/xhtml""")
_OPS = "{http://www.idpf.org/2007/ops}"
_TEMPLATE = re.compile(r"<(/?)template\b([^<>]*)>", re.IGNORECASE)
_SHADOW = re.compile(r"\bshadowroot(?:mode)?\s*=", re.IGNORECASE)


def parse_html(source: str, *, is_xml: bool = False) -> LexborHTMLParser:
    """Return the tree of a page.

    XHTML is parsed as XML, where ``<title/>`` is a whole element, or else as HTML.

    Parameters
    ----------
    source
        The page.
    is_xml
        Whether it is XHTML even if it does not say so, as in EPUB books.

    Raises
    ------
    UnreadableFileError
        If elements are nested too deeply.
    """
    head = source[:_XHTML_CHARACTERS]
    is_xml = is_xml or bool(_XHTML.match(_COMMENT.sub("", head)))
    # Without these, both parsers find the same, and that of HTML is faster.
    if is_xml and ("<![CDATA[" in source or _SELF_CLOSED.search(source) or _PREFIXED.search(head)):
        source = _xhtml_as_html(source)
    # Most pages have so few tags that these need not be told apart.
    ends = source.count("</")
    many = source.count("<") - 2 * ends > _DEEPEST
    if many and len(_NESTING.findall(source)) - ends > _DEEPEST:
        raise UnreadableFileError("nested too deeply")
    if "shadowroot" in source:
        source = _with_shadow_roots(source)
    return LexborHTMLParser(source)


def walk(
    root: LexborNode,
    enter: Callable[[LexborNode], bool | str],
    leave: Callable[[LexborNode, str], None],
) -> None:
    """Visit the nodes below a root in order, without recursion, for pages nested deeply.

    Parameters
    ----------
    root
        The root.
    enter
        Called before what is in a node, with the node. It returns False to pass over that, and
        otherwise what to give to `leave`, or True if that is not needed.
    leave
        Called after what is in a node, with the node and what `enter` returned.
    """
    node = root.child
    entered: list[bool | str] = []
    while node is not None:
        name = enter(node)
        if name:
            child = node.child
            if child is not None:
                entered.append(name)
                node = child
                continue
            if name is not True:
                leave(node, name)
        following = node.next
        while following is None and entered:
            node = node.parent
            if node is None:
                return
            name = entered.pop()
            if name and name is not True:
                leave(node, name)
            following = node.next
        node = following


def _xhtml_as_html(source: str) -> str:
    """Return well-formed XHTML as HTML; of other pages, the elements that end themselves."""
    from lxml import etree

    source = _DECLARATION.sub("", source, count=1)
    try:
        if "<!ENTITY" in source:  # could grow without bound; no page needs its own
            raise ValueError("declares entities")
        # The names of HTML's entities are in a document type that is not read.
        plain = _ENTITY.sub(lambda m: html.unescape(m[0]), _DOCTYPE.sub("", source, count=1))
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(plain.strip(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return _SELF_CLOSED.sub(r"<\1\2></\1>", source)
    for element in root.iter(etree.Element):
        name = element.tag.rpartition("}")[2]
        element.tag = name
        if name in ("script", "style") and not element.get("type", "").startswith("math/"):
            element.text = None  # is not escaped in HTML
        if (kind := element.get(f"{_OPS}type")) is not None:
            del element.attrib[f"{_OPS}type"]
            element.set("data-epub-type", kind)
    return str(etree.tostring(root, method="html", encoding="unicode"))


def _with_shadow_roots(source: str) -> str:
    """Return a page with elements ``shadow-root`` for the templates that browsers show."""
    shown: list[bool] = []

    def renamed(match: re.Match[str]) -> str:
        if not match[1]:
            shown.append(bool(_SHADOW.search(match[2])))
            return "<shadow-root>" if shown[-1] else match[0]
        return "</shadow-root>" if shown and shown.pop() else match[0]

    return _TEMPLATE.sub(renamed, source)
