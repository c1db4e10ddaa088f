"""Files of verdicts: the settings that decide them, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import admiral
from admiral.citations.citation_settings import CitationConfig
from admiral.config import RetrievalConfig
from admiral.errors import RecordError
from admiral.io.streams import json_objects
from admiral.models.devices import choose_precision
from admiral.retrieval.provenance import identity

_REMEDY = "Give a file that `admiral verify-citation` wrote"


def recorded_citation_settings(config: CitationConfig, library: str) -> dict[str, Any]:
    """Return everything that decides verdicts, to be stored with them.

    The library is recorded with the version that it has now: a run that is resumed after the
    library has changed is refused.
    """
    runtime = RetrievalConfig(device=config.device, precision=config.precision)
    settings = config.settings() | {"precision": choose_precision(runtime)}
    files = {key: identity(settings[key]) for key in ("classifier", "weights") if settings[key]}
    return {
        **settings,
        **files,
        "library": identity(library),
        "version": admiral.__version__,
    }


def read_verdicts(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a file of verdicts by id.

    Raises
    ------
    RecordError
        For a line that is not a verdict.
    AdmiralError
        If the file cannot be read.
    """
    records = {}
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        for field in ("id", "decision", "existing", "suggestions"):
            if field not in record:
                raise RecordError(f"{path}:{number}", field, "is missing", _REMEDY)
        records[str(record["id"])] = record
    return records


def any_flagged(path: Path) -> bool:
    """Return whether a file of verdicts flags a claim."""
    return any(record["flagged"] for record in read_verdicts(path).values())
