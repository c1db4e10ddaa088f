"""Claims with passages of the page that they cite, and of others: a file of JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.io.streams import json_objects
from admiral.storage.atomic_files import encode_record, write_atomically

#: Title and text of a passage.
Titled = tuple[str, str]
_REMEDY = "Give a file that training.citation_pairs has written"


@dataclass(frozen=True, slots=True)
class CitedPassages:
    """A claim with the passages that training compares.

    Attributes
    ----------
    page
        Title of its page.
    claim
        The claim, as verifiers read it.
    query
        The query that sources are searched by.
    positives
        Passages of the cited page, in its order.
    negatives
        Passages of other pages.
    """

    id: str
    page: str
    claim: str
    query: str
    positives: tuple[Titled, ...]
    negatives: tuple[Titled, ...]


def write_cited_passages(path: Path, items: Iterable[CitedPassages]) -> int:
    """Write a file, which appears when it is complete, and return the number of claims."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for item in items:
            count += 1
            yield encode_record(asdict(item))

    write_atomically(path, lines())
    return count


def read_cited_passages(path: Path) -> list[CitedPassages]:
    """Read a file.

    Raises
    ------
    RecordError
        For a record that is not one, with file, line and field.
    AdmiralError
        If the file cannot be read.
    """
    items = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        items.append(
            CitedPassages(
                id=_text(record, "id", where),
                page=_text(record, "page", where),
                claim=_text(record, "claim", where),
                query=_text(record, "query", where),
                positives=_passages(record, "positives", where),
                negatives=_passages(record, "negatives", where),
            )
        )
    return items


def _text(record: dict[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise RecordError(where, name, "is missing, or is no text", _REMEDY)
    return value


def _passages(record: dict[str, Any], name: str, where: str) -> tuple[Titled, ...]:
    value = record.get(name)
    if not isinstance(value, list) or not value or not all(_is_titled(each) for each in value):
        raise RecordError(where, name, "is not a list of titles with texts", _REMEDY)
    return tuple((title, text) for title, text in value)


def _is_titled(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value)
    )
