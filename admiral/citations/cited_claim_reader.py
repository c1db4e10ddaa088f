"""Read claims with citations: our own JSON Lines, WAFER's records, and WiCE's.

The format of a record is recognised by its fields. `docs/citations.md` shows our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from admiral.citations.citation_records import Citation, CitedClaim
from admiral.citations.wice_records import is_wice, wice_claim
from admiral.errors import AdmiralError, RecordError
from admiral.gold.json_lines import parse_json_object, record_lines
from admiral.io.claims import claim_id, claim_text
from admiral.kb.corpus.sentence_splitter import sentence_spans

_REMEDY = 'Write it as {"claim": "...", "page": "...", "citations": [{"url": "..."}]}'
_MARK = "[CIT]"
_SEPARATOR = " [SEP] "
_SECTION = "Section::::"
_FAILED = "failed verification"
_CITATION_TEXTS = ("url", "name", "title", "archive_url", "date", "template", "quote")


def read_cited_claims(path: Path) -> Iterator[CitedClaim]:
    """Yield the claims of a JSON Lines file in order.

    Raises
    ------
    RecordError
        For a bad line, or an id that occurs twice; with file, line, field and remedy.
    AdmiralError
        If the file cannot be read or holds no claim.
    """
    seen: dict[str, int] = {}
    for number, line in record_lines(path, _REMEDY):
        where = f"{path}:{number}"
        claim = parse_cited_claim(parse_json_object(line, where, _REMEDY), where, number)
        if claim.id in seen:
            problem = f"{claim.id!r} is also the id of line {seen[claim.id]}"
            raise RecordError(where, "id", problem, "Give every claim its own id")
        seen[claim.id] = number
        yield claim
    if not seen:
        raise AdmiralError(f"{path}: holds no claims. Give one JSON object per line")


def parse_cited_claim(record: dict[str, Any], where: str, number: int) -> CitedClaim:
    """Return the claim of a record in any of the formats.

    Parameters
    ----------
    record
        The record.
    where, number
        File and line, for messages; the line is the id of a record without one.
    """
    if is_wice(record):
        return wice_claim(record, where, number)
    if "input" in record and "claim" not in record:
        return _wafer_claim(record, where, number)
    citations = record.get("citations", [])
    if not isinstance(citations, list):
        raise RecordError(where, "citations", "is not a list", _REMEDY)
    return CitedClaim(
        claim_id(record, where, number),
        claim_text(record, where),
        page=_text(record, "page", where),
        section=_texts(record, "section", where),
        before=_text(record, "before", where),
        after=_text(record, "after", where),
        span=_span(record, where),
        kind="list" if record.get("kind") == "list" else "sentence",
        tags=_texts(record, "tags", where),
        citations=tuple(_citation(each, where) for each in citations),
    )


def _citation(record: Any, where: str) -> Citation:
    if not isinstance(record, dict):
        raise RecordError(where, "citations", "holds something else than objects", _REMEDY)
    return Citation(**{name: _text(record, name, where) for name in _CITATION_TEXTS})


def _wafer_claim(record: dict[str, Any], where: str, number: int) -> CitedClaim:
    """Return the claim of a record of WAFER, by the rules of its authors' reader."""
    parts = [" ".join(part.split()) for part in _text(record, "input", where).split(_SEPARATOR)]
    title, section = (parts[0] if len(parts) > 1 else ""), (parts[1] if len(parts) > 2 else "")
    before, _, after = parts[-1].partition(_MARK)
    meta = record.get("meta") or {}
    sentences = meta.get("sentences") if isinstance(meta, dict) else None
    claim = before
    if isinstance(sentences, list) and sentences and isinstance(sentences[-1], str):
        claim = " ".join(sentences[-1].replace(_MARK, " ").split())
        before = before.removesuffix(" ").removesuffix(claim)
    else:
        spans = sentence_spans(before)
        start, end = spans[-1] if spans else (0, len(before))
        before, claim = before[:start], before[start:end]
    if not claim.strip():
        raise RecordError(where, "input", "has no text in front of [CIT]", "Remove the line")
    outputs = record.get("output")
    urls = [
        str(one.get("answer") or "")
        for one in (outputs if isinstance(outputs, list) else [])
        if isinstance(one, dict)
    ]
    failed = any(url.casefold() == _FAILED for url in urls)
    return CitedClaim(
        claim_id(record, where, number),
        claim.strip(),
        page=title,
        section=tuple(
            filter(None, section.removeprefix(_SECTION).replace(".:", ":").strip(".").split(":"))
        ),
        before=before.strip(),
        after=after.strip(),
        tags=("failed-verification",) if failed else (),
        citations=tuple(
            Citation(url) for url in dict.fromkeys(urls) if url and url.casefold() != _FAILED
        ),
    )


def _text(record: dict[str, Any], field: str, where: str) -> str:
    value = record.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(where, field, "is not text", _REMEDY)
    return value


def _texts(record: dict[str, Any], field: str, where: str) -> tuple[str, ...]:
    value: Sequence[Any] = record.get(field) or ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise RecordError(where, field, "is not a list of texts", _REMEDY)
    return tuple(value)


def _span(record: dict[str, Any], where: str) -> tuple[int, int] | None:
    value = record.get("span")
    if value is None:
        return None
    numbers = isinstance(value, list) and [type(each) for each in value] == [int, int]
    if not numbers or not 0 <= value[0] <= value[1] <= len(record.get("claim", "")):
        problem = "is not a pair of offsets in the claim"
        raise RecordError(where, "span", problem, "Give [start, end], or leave it out")
    return value[0], value[1]
