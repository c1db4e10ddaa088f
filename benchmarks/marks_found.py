"""How many of a page's reference marks become citations of claims, by the place where they stand.

Run as ``python -m benchmarks.marks_found PAGE...``, with pages of wikitext (``.wiki``) or in HTML.
Each mark of a page is made to lead to an address of its own before the page is read, so a mark is
found if some claim cites its address. Marks are found in wikitext by mwparserfromhell's own tree,
and in HTML by their class. Definitions in lists of references, and marks of explanatory notes, are
no marks of a source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import mwparserfromhell
from lxml import html
from mwparserfromhell.nodes import Heading, Tag, Template, Wikilink
from mwparserfromhell.wikicode import Wikicode

from admiral.citations.extract import extract_claims
from admiral.citations.extract.marked_blocks import is_note_group

ADDRESS = "https://mark.example/{}"
_QUOTES = re.compile(r"(block|c|pull|long)?(quote|quotation|zitat|citation bloc).*", re.IGNORECASE)
_LISTS = ("reflist", "references", "refs", "reference list", "références", "脚注リスト")
_NOTES = ("efn", "efn-ua", "note", "refnest", "notetag")
_DEFINED = "a definition"


def marked_wikitext(text: str) -> tuple[str, list[str]]:
    """Return wikitext in which each mark leads to its own address, and the place of each mark."""
    code = mwparserfromhell.parse(text)
    places: list[str] = []
    for tag in code.filter_tags(matches=lambda tag: tag.tag == "ref"):
        group = str(tag.get("group").value) if tag.has("group") else ""
        if is_note_group(group) or (place := _place(code, tag)) == _DEFINED:
            continue
        code.replace(tag, f"<ref>[{ADDRESS.format(len(places))} Mark]</ref>")
        places.append(place)
    return str(code), places


def _place(code: Wikicode, tag: Tag) -> str:
    place = "text"
    for node in code.get_ancestors(tag):  # the outermost first
        name, size = "", 0
        if isinstance(node, Template):
            name, size = str(node.name).strip().lower(), len(node.params)
        if name in _LISTS or (isinstance(node, Tag) and node.tag == "references"):
            return _DEFINED
        if name in _NOTES:
            return "note"
        if _QUOTES.fullmatch(name):
            place = "quotation"
        elif size > 2 and place == "text":
            place = "infobox" if "infobox" in name or "\n" in str(node) else "template"
        elif isinstance(node, Wikilink) and ":" in str(node.title).strip("[:"):
            place = "caption"
        elif isinstance(node, Tag) and node.tag == "table":
            place = "table"
        elif isinstance(node, Tag) and node.tag == "blockquote":
            place = "quotation"
        elif isinstance(node, Heading):
            place = "heading"
    return place


_PLACES = (
    ("caption", "figure|*[contains(@class,'thumb') or contains(@class,'gallery')]"),
    ("infobox", "*[contains(@class,'infobox') or contains(@class,'vertical-navbox')]"),
    ("table", "table"),
    ("quotation", "blockquote|*[contains(@class,'quote')]"),
    ("heading", "h1|h2|h3|h4|h5|h6"),
)


def marked_html(text: str) -> tuple[str, list[str]]:
    """Return a page in HTML in which each mark leads to its own address, and their places."""
    root = html.document_fromstring(text)
    places: list[str] = []
    notes = []
    for sup in root.xpath("//sup[contains(@class,'reference') or contains(@class,'mw-ref')]"):
        shown = re.sub(r"[\[\]\s↑]", "", sup.text_content())
        if not shown[-1:].isdigit() or re.match(r"(notes?|n|nb|fn|a|注|Anm\.?)\W?\d", shown, re.I):
            continue
        if sup.xpath("ancestor::ol[contains(@class,'references')]"):
            continue
        for link in sup.iter("a"):
            link.set("href", f"#cite_note-mark-{len(places)}")
        notes.append(
            f'<li id="cite_note-mark-{len(places)}"><a class="external" '
            f'href="{ADDRESS.format(len(places))}">Mark</a></li>'
        )
        places.append(_html_place(sup))
    page = html.tostring(root, encoding="unicode")
    return page.replace("</body>", f'<ol class="references">{"".join(notes)}</ol></body>'), places


def _html_place(sup: html.HtmlElement) -> str:
    for place, path in _PLACES:
        if any(sup.xpath(f"ancestor::{each}") for each in path.split("|")):
            return place
    return "text"


def read_marks(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the place of each mark of a page, and whether it was found."""
    text = path.read_text(encoding="utf-8")
    marked, places = (marked_html if path.suffix == ".html" else marked_wikitext)(text)
    claims = extract_claims(marked, path.stem)
    found = {one.url for claim in claims for one in claim.citations}
    for number, place in enumerate(places):
        yield place, ADDRESS.format(number) in found


@click.command()
@click.argument("pages", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--each", is_flag=True, help="Also one line per page.")
def main(pages: tuple[Path, ...], each: bool) -> None:
    """Print how many marks of PAGES are found, by their place."""
    for kind in ("wikitext", "HTML"):
        marks: Counter[str] = Counter()
        found: Counter[str] = Counter()
        for path in pages:
            if (path.suffix == ".html") != (kind == "HTML"):
                continue
            own = list(read_marks(path))
            marks.update(place for place, _ in own)
            found.update(place for place, is_found in own if is_found)
            if each:
                click.echo(f"{path.name}: {sum(one for _, one in own)} of {len(own)} marks")
        if marks:
            click.echo(f"| {kind} | marks | found |\n|---|---|---|")
            for place in sorted(marks):
                click.echo(f"| {place} | {marks[place]} | {found[place]} |")
            share = found.total() / marks.total()
            click.echo(f"| all | {marks.total()} | {found.total()} ({share:.1%}) |\n")


if __name__ == "__main__":
    main()
