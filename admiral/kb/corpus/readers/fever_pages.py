"""FEVER's wiki-pages: ``{"id": ..., "text": ..., "lines": ...}``.

`lines` holds one sentence a line: its number, the text, then pairs of link text and link target,
all separated by tabs. Ids spell spaces as underscores and brackets in the Penn Treebank's way.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from admiral.errors import RecordError
from admiral.kb.corpus.readers.base import SKIP_REMEDY, text_field
from admiral.records import Document

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
_QUOTES = re.compile(r"(?<!\S)(?:``|'')(?!\S)")
# Sentences left out of the dump leave gaps in the numbers; a larger gap is a damaged record, and
# so are gaps that are larger together: a few bytes would otherwise fill the memory.
_LARGEST_GAP = 10_000


def unescape(text: str) -> str:
    """Return `text` with brackets and colons for ``-LRB-`` and its kin."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group()], text)


def fever_title(identifier: str) -> str:
    """Return the title of Wikipedia (composed Unicode) that a FEVER id stands for."""
    return unicodedata.normalize("NFC", unescape(identifier).replace("_", " ")).strip()


def fever_identifier(title: str) -> str:
    """Return the id of FEVER's wiki-pages, in decomposed Unicode, that `fever_title` undoes."""
    escaped = _PLAIN.sub(lambda match: _IDENTIFIERS[match.group()], title)
    return unicodedata.normalize("NFD", escaped.replace(" ", "_"))


def parse_fever(value: dict[str, Any], where: str) -> Document | None:
    """Return the document of one page; None for the dump's empty padding records."""
    identifier = text_field(value, "id", where)
    lines = text_field(value, "lines", where)
    if not identifier and not lines.strip():
        return None
    sentences: list[str] = []
    links: list[list[str]] = []
    left_out = 0
    for line in lines.split("\n"):
        number, _, rest = line.partition("\t")
        index = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
        fields = rest.split("\t")
        if index is not None and len(sentences) <= index <= len(sentences) + _LARGEST_GAP:
            gap = index - len(sentences)
            left_out += gap
            if left_out > _LARGEST_GAP:
                raise RecordError(
                    where,
                    "lines",
                    f"its numbers leave out more than {_LARGEST_GAP:,} sentences",
                    SKIP_REMEDY,
                )
            sentences += [""] * gap + [_sentence(fields[0])]
            links += [[] for _ in range(gap)] + [_targets(fields[1:])]
        elif sentences:
            # A line feed inside a sentence breaks its line in two.
            fields = line.split("\t")
            sentences[-1] = f"{sentences[-1]} {_sentence(fields[0])}".strip()
            links[-1] += _targets(fields[1:])
        elif line.strip():
            raise RecordError(
                where, "lines", f"the first line has no sentence number: {line[:40]!r}", SKIP_REMEDY
            )
    return Document(fever_title(identifier), tuple(sentences), tuple(map(tuple, links)))


def _sentence(text: str) -> str:
    return _QUOTES.sub('"', unescape(text)).strip()


def _targets(fields: list[str]) -> list[str]:
    """Return the titles among alternating link texts and link targets."""
    return [title for target in fields[1::2] if (title := fever_title(target))]
