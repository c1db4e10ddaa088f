"""Convert between titles and the identifiers of FEVER, which escape spaces and brackets."""

from __future__ import annotations

import re
import unicodedata

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
