"""Clean texts and titles of untrusted corpora before they are stored.

Lone surrogates cannot be written as UTF-8 and NUL ends a string in C libraries, so both become
U+FFFD. Titles are looked up, printed on one line and decoded token by token, so control characters
in them become spaces.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from admiral.records import Document

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A title is decoded token by token; a longer one is probably a text in the wrong field.
LONGEST_TITLE = 2000  # characters

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# [[Target|text]] or [[Text]]. The text may begin with a bracket, as pronunciations do. There are no
# other brackets inside, so the match is linear.
_WIKI_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|(\[?[^\[\]]*))?\]\]")
_CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]+")


def clean_text(text: str) -> str:
    """Replace lone surrogates and NUL in a text, and strip outer white space."""
    return _UNSTORABLE.sub(REPLACEMENT, text).strip()


def clean_title(title: str) -> str:
    """Return a title as it is stored and looked up. The function is idempotent."""
    if title.isprintable():  # nothing to replace, and a fast test
        return title.strip()
    return _CONTROL.sub(" ", _UNSTORABLE.sub(REPLACEMENT, title)).strip()


def clean_prefix(prefix: str) -> str:
    """Clean the beginning of a title like a title, but keep white space at its end."""
    if prefix.isprintable():
        return prefix.lstrip()
    return _CONTROL.sub(" ", _UNSTORABLE.sub(REPLACEMENT, prefix)).lstrip()


def clean_document(document: Document) -> Document:
    """Return a document whose texts can be stored.

    Empty sentences are kept, since gold evidence refers to sentences by number. Links are either an
    empty tuple or one tuple per sentence; likewise sections and offsets. Raises ValueError if the
    numbers of sentences and of rows of links, sections or offsets differ.
    """
    sentences = tuple(clean_text(sentence) for sentence in document.sentences)
    links = tuple(
        tuple(title for link in row if (title := clean_title(link))) for row in document.links
    )
    if links and len(links) != len(sentences):
        raise ValueError(f"{len(links)} rows of links for {len(sentences)} sentences")
    sections = tuple(clean_title(section) for section in document.sections)
    for name, values in (("sections", sections), ("offsets", document.offsets)):
        if values and len(values) != len(sentences):
            raise ValueError(f"{len(values)} {name} for {len(sentences)} sentences")
    page = document.page
    if page is not None and len(page.gaps) != len(sentences):
        raise ValueError(f"{len(page.gaps)} gaps for {len(sentences)} sentences")
    return Document(
        clean_title(document.title),
        sentences,
        links if any(links) else (),
        clean_title(document.source),
        sections if any(sections) else (),
        document.offsets,
        clean_title(document.id),
        page=page,
    )


def without_markup(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text whose wiki links ``[[Target|text]]`` are plain text, and their targets."""
    links = (wikipedia_title(match.group(1)) for match in _WIKI_LINK.finditer(text))
    return _WIKI_LINK.sub(lambda m: m.group(2) or m.group(1), text), tuple(filter(None, links))


def wikipedia_title(href: str) -> str:
    """Return the title that a hyperlink of Wikipedia leads to, or "" for an external link.

    Percent escapes and underscores are decoded, the section is removed, and the first letter is
    capitalised, as in all titles of Wikipedia.
    """
    target = unquote(href).partition("#")[0].replace("_", " ").strip()
    if "://" in target:
        return ""
    return target[:1].upper() + target[1:]


_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
}
_ESCAPE = re.compile("|".join(_ESCAPES))
_IDENTIFIERS = {plain: escape for escape, plain in _ESCAPES.items()}
_PLAIN = re.compile("|".join(map(re.escape, _IDENTIFIERS)))


def unescape_fever(text: str) -> str:
    """Replace ``-LRB-`` and similar escapes by brackets and colons."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group()], text)


def fever_title(identifier: str) -> str:
    """Convert a FEVER id to a Wikipedia title in composed Unicode (NFC)."""
    return unicodedata.normalize("NFC", unescape_fever(identifier).replace("_", " ")).strip()


def fever_identifier(title: str) -> str:
    """Convert a title to an id of FEVER's wiki-pages, in decomposed Unicode (NFD)."""
    escaped = _PLAIN.sub(lambda match: _IDENTIFIERS[match.group()], title)
    return unicodedata.normalize("NFD", escaped.replace(" ", "_"))
