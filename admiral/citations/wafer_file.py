"""The records of WAFER (Petroni et al., 2023) for evaluation: valid sources and kinds of claims."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admiral.citations.citation_file import parse_claim
from admiral.citations.citation_records import CitedClaim
from admiral.citations.decide import FAILING_TAG
from admiral.errors import AdmiralError, RecordError
from admiral.io.claims import is_wafer
from admiral.io.streams import json_objects

_REMEDY = "Give a file of WAFER, or of records in its form"


@dataclass(frozen=True, slots=True)
class WaferCitation:
    """A citation of Wikipedia."""

    claim: CitedClaim  # its citations are the valid sources
    featured: bool  # whether it stands in a featured article

    @property
    def failed(self) -> bool:
        """Whether editors have tagged it: the source does not support the claim."""
        return FAILING_TAG in self.claim.tags


def holds_wafer(path: Path) -> bool:
    """Return whether the first record of a file is one of WAFER.

    Raises AdmiralError if the file cannot be read.
    """
    first = next(iter(json_objects(path)), None)
    return first is not None and not isinstance(first, RecordError) and is_wafer(first[1])


def read_wafer(path: Path) -> list[WaferCitation]:
    """Read the citations of a file.

    Raises RecordError for a record that is not WAFER's, with file, line and field. Raises
    AdmiralError if the file cannot be read, or holds no records.
    """
    citations = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        if not is_wafer(record):
            raise RecordError(where, "input", "has no mark [CIT]", _REMEDY)
        meta = record.get("meta")
        featured = meta.get("featured", False) if isinstance(meta, dict) else False
        if not isinstance(featured, bool):
            raise RecordError(where, "meta.featured", "is not true or false", _REMEDY)
        citations.append(WaferCitation(parse_claim(record, where, str(number)), featured))
    if not citations:
        raise AdmiralError(f"{path}: holds no records. {_REMEDY}")
    return citations
