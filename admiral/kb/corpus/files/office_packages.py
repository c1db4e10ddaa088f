"""Open the parts of documents in the formats of Office: DOCX, XLSX and PPTX.

Names are compared without their namespaces, which differ between the two variants of the formats:
the transitional one, and the strict one of ISO/IEC 29500.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree

# An element of lxml, which carries no type information.
Element = Any


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace; "" for a comment."""
    tag = element.tag
    return tag[tag.rfind("}") + 1 :] if isinstance(tag, str) else ""


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first descendant along a path of names, or None."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if local_name(each) == name), None)
    return element


def children(element: Element | None, *path: str) -> Iterator[Element]:
    """Yield what is in the first descendant along a path of names; nothing if there is none."""
    found = child(element, *path)
    if found is not None:
        yield from found


def attribute(element: Element | None, name: str = "val") -> str | None:
    """Return an attribute by its name without a namespace, or None."""
    if element is None:
        return None
    for key, value in element.items():
        if key[key.rfind("}") + 1 :] == name:
            return str(value)
    return None


def main_part(archive: zipfile.ZipFile, usual: str) -> str:
    """Return the path of the main part of a document; `usual` if nothing names it."""
    kinds = {each.kind: each.path for each in relationships(archive, "")}
    return kinds.get("officeDocument", usual)


def core_title(archive: zipfile.ZipFile) -> str:
    """Return the title in the metadata of a document."""
    kinds = {each.kind: each.path for each in relationships(archive, "")}
    core = parsed(archive, kinds.get("core-properties", "docProps/core.xml"), ())
    return next((each.text or "" for each in core if local_name(each) == "title"), "")


class Relationship(NamedTuple):
    """A part that another one refers to: by an id, of a kind such as ``slide``, at a path."""

    id: str
    kind: str
    path: str


def relationships(archive: zipfile.ZipFile, part: str) -> Iterator[Relationship]:
    """Yield the parts that a part refers to, or the whole archive for ``""``."""
    folder, name = posixpath.split(part)
    for each in parsed(archive, posixpath.join(folder, "_rels", f"{name}.rels"), ()):
        kind = (attribute(each, "Type") or "").rsplit("/", 1)[-1]
        target = attribute(each, "Target") or ""
        path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        yield Relationship(attribute(each, "Id") or "", kind, path)


def elements(archive: zipfile.ZipFile, part: str, *names: str) -> Iterator[Element]:
    """Yield the elements of a part that have one of some names, without keeping the others.

    Those within another one come before it, and each is emptied after it was yielded.
    """
    with archive.open(part) as file:
        tags = [f"{{*}}{name}" for name in names]
        # Nothing is expanded or fetched, as in `parsed`.
        for _, element in etree.iterparse(
            file, tag=tags, resolve_entities=False, no_network=True, load_dtd=False
        ):
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]


def parsed(archive: zipfile.ZipFile, part: str, default: Any = None) -> Any:
    """Return the root of a part; `default`, if there is one, for a part that is missing."""
    try:
        data = archive.read(part)
    except KeyError:
        if default is None:
            raise ValueError(f"{part} is missing") from None
        return default
    # Entities are not expanded and nothing is fetched.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(data, parser)
