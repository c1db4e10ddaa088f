"""Records of WiCE (Kamoi et al., 2023): claims of Wikipedia with the text of the cited page.

WiCE has no URLs; sources have names instead (`admiral.library.readers.source_lines.wice_url`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.citations.citation_file import parse_claim
from admiral.citations.citation_records import CitedClaim
from admiral.errors import RecordError
from admiral.io.streams import json_objects
from admiral.library.source_records import Source

#: Labels in ascending order of support.
WICE_LABELS = ("not_supported", "partially_supported", "supported")
_FIELDS = ("claim", "evidence", "label", "meta", "supporting_sentences")
_META = re.compile(r"\(meta data\) ([A-Z ]+): ?")
_REMEDY = "Give a file of WiCE's claims or sub-claims, unchanged"


@dataclass(frozen=True, slots=True)
class WiceCitation:
    """A labelled citation of WiCE."""

    claim: CitedClaim  # the claim; it cites `source`
    source: Source  # the cited page. Its text has one line for each of `sentences`.
    sentences: tuple[str, ...]  # the sentences of the page, without the lines of metadata
    # alternative sets of positions in `sentences` that support the claim
    gold: tuple[frozenset[int], ...]
    label: str

    @property
    def page(self) -> str:
        """The page of the claim, by which folds are divided."""
        return self.claim.page


def read_wice(path: Path) -> list[WiceCitation]:
    """Read the labelled citations of a file of WiCE's claims.

    Raises RecordError for a record that is not WiCE's, with file, line and field. Raises
    AdmiralError if the file cannot be read.
    """
    citations = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        citations.append(_citation(record, f"{path}:{number}", number))
    return citations


def _citation(record: dict[str, Any], where: str, number: int) -> WiceCitation:
    for field in _FIELDS:
        if field not in record:
            raise RecordError(where, field, "is missing", _REMEDY)
    if record["label"] not in WICE_LABELS:
        raise RecordError(where, "label", f"is not one of {', '.join(WICE_LABELS)}", _REMEDY)
    claim = parse_claim(record, where, default_id=str(number))
    title, sentences, positions = page_of(record["evidence"])
    gold = tuple(
        frozenset(positions[at] for at in own if at in positions)
        for own in record["supporting_sentences"]
    )
    source = Source(claim.citations[0].url, title, "\n".join(sentences), language="en")
    return WiceCitation(claim, source, sentences, tuple(filter(None, gold)), record["label"])


def page_of(evidence: list[str]) -> tuple[str, tuple[str, ...], dict[int, int]]:
    """Return the title and the sentences of a page, and the new position of each of its lines.

    `evidence`: the lines of the page, with metadata and with marks of headings.
    """
    title = ""
    sentences: list[str] = []
    positions: dict[int, int] = {}
    for at, line in enumerate(evidence):
        if match := _META.match(line):
            if match[1] == "TITLE":
                title = " ".join(line[match.end() :].split())
            continue
        text = " ".join(line.lstrip("# ").split())
        if text:
            positions[at] = len(sentences)
            sentences.append(text)
    return title, tuple(sentences), positions
