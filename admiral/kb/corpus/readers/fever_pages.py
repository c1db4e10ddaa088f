"""Parse FEVER's wiki-pages: ``{"id": ..., "text": ..., "lines": ...}``.

`lines` has one sentence per line: its number, the text, then pairs of link text and link target,
all separated by tabs. Ids have underscores for spaces and Penn Treebank escapes for brackets.
"""

from __future__ import annotations

import re
from typing import Any

from admiral.errors import RecordError
from admiral.io.fever_titles import fever_title, unescape_fever
from admiral.kb.corpus.readers.corpus_records import SKIP_BAD_REMEDY, string_field
from admiral.records import Document

_QUOTES = re.compile(r"(?<!\S)(?:``|'')(?!\S)")
# Sentences left out of the dump leave gaps in the numbers. If the gaps of a record are larger than
# this in total, it is damaged; otherwise a few bytes could fill the memory with empty sentences.
_LARGEST_GAP = 10_000


def parse_fever(value: dict[str, Any], where: str) -> Document | None:
    """Return the document of one page; None for the dump's empty padding records."""
    identifier = string_field(value, "id", where)
    lines = string_field(value, "lines", where)
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
                    SKIP_BAD_REMEDY,
                )
            sentences += [""] * gap + [_sentence(fields[0])]
            links += [[] for _ in range(gap)] + [_targets(fields[1:])]
        elif sentences:
            # A line without a number continues a sentence that contains a line feed.
            fields = line.split("\t")
            sentences[-1] = f"{sentences[-1]} {_sentence(fields[0])}".strip()
            links[-1] += _targets(fields[1:])
        elif line.strip():
            raise RecordError(
                where,
                "lines",
                f"the first line has no sentence number: {line[:40]!r}",
                SKIP_BAD_REMEDY,
            )
    return Document(fever_title(identifier), tuple(sentences), tuple(map(tuple, links)))


def _sentence(text: str) -> str:
    return _QUOTES.sub('"', unescape_fever(text)).strip()


def _targets(fields: list[str]) -> list[str]:
    """Return the link targets among alternating link texts and link targets, as titles."""
    return [title for target in fields[1::2] if (title := fever_title(target))]
