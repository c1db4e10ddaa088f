"""Readers of annotated claims: HoVer's, and claims with the titles of their gold pages only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from training.annotated import GoldClaim


def read_hover(path: Path) -> Iterator[GoldClaim]:
    """Yield HoVer claims; "not supported" mixes refuted and unverifiable ones (paper, note 2)."""
    for where, record in _records(path):
        facts = _field(where, record, "supporting_facts", list)
        evidence = tuple(dict.fromkeys((str(t), int(i)) for t, i in facts))
        supported = _field(where, record, "label", str) == "SUPPORTED"
        yield GoldClaim(
            _field(where, record, "claim", str), evidence, None if not supported else False
        )


def read_page_claims(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (claim, gold titles) of claims that name pages, `gold_pages_union`, not sentences."""
    for where, record in _records(path):
        titles = tuple(_field(where, record, "gold_pages_union", list))
        if titles:
            yield _field(where, record, "claim", str), titles


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            where = f"{path}:{number}"
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise RecordError(where, "", f"not JSON ({error})", "Mend the line.") from error
            yield where, record


def _field(where: str, record: dict[str, Any], name: str, kind: type) -> Any:
    value = record.get(name)
    if not isinstance(value, kind):
        raise RecordError(where, name, f"a {kind.__name__} was expected", "Mend the record.")
    return value
