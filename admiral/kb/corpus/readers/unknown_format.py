"""The error for a corpus whose format is not recognised: it names the cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.remote import Place

_MAX_FIELDS = 8
_TEXT_FIELDS = ("text", "sentences")


def unknown_format_error(
    file: Place,
    records: Iterable[tuple[int, dict[str, Any]] | RecordError],
    formats: Sequence[str],
) -> AdmiralError:
    """Return the error for a file whose first records match no format.

    Parameters
    ----------
    file
        The file.
    records
        Its first records with their line numbers, or what is wrong with them.
    formats
        Names of the formats.
    """
    unknown = f"{file}: its first records match no known format"
    remedy = f"Name the format with --format ({', '.join(formats)})."
    errors = []
    for item in records:
        if isinstance(item, RecordError):
            errors.append(item)
            continue
        number, record = item
        if "title" in record and not any(field in record for field in _TEXT_FIELDS):
            cause = f"that of line {number} has a title, but neither {' nor '.join(_TEXT_FIELDS)}"
        else:
            fields = ", ".join(map(repr, list(record)[:_MAX_FIELDS])) or "none"
            cause = f"the fields of line {number} are {fields}"
        return AdmiralError(f"{unknown}: {cause}. {remedy}")
    if errors:
        first = errors[0]
        return RecordError(first.where, first.field, first.problem, first.remedy)
    return AdmiralError(f"{file}: is empty. Give a file with a document on each line.")
