"""Reader of claims with gold evidence, in a given or detected format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.gold import evidence_formats
from admiral.gold.gold_claims import EvidenceSet, GoldClaim, Label
from admiral.io.claims import claim_id, claim_text
from admiral.io.streams import parse_object, record_lines

# Format -> its parser, and the fields of which a record must have at least one.
_PARSERS: dict[str, tuple[evidence_formats.Parser, tuple[str, ...]]] = {
    "pairs": (evidence_formats.parse_pairs, ("evidence",)),
    "hover": (evidence_formats.parse_hover, ("supporting_facts",)),
    "fever": (evidence_formats.parse_fever, ("evidence",)),
    "feverous": (evidence_formats.parse_feverous, ("evidence",)),
    "kilt": (evidence_formats.parse_kilt, ("output",)),
    "pages": (evidence_formats.parse_pages, ("gold_title_sets", "gold", "gold_pages_union")),
    "hipporag": (evidence_formats.parse_hipporag, ("supporting_facts", "paragraphs")),
}
FORMATS = tuple(_PARSERS)
# Fields of the claim's text that are not called `claim`.
_TEXT_FIELDS = {"kilt": "input", "hipporag": "question"}
# Fields of the claim's id, where there are more than `id` and `uid`.
_ID_FIELDS = {"hipporag": ("_id", "id", "uid")}
# A larger number is an error of the file; groups of claims by hops are counted in 64 bits.
_MOST_HOPS = 1_000_000
_EXAMPLE = '{"claim": "...", "evidence": [["title", 0]]}'


def read_gold(path: Path, name: str | None = None) -> Iterator[GoldClaim]:
    """Yield the claims of a file with their gold evidence, in order.

    The file is JSON Lines, compressed or not, or one JSON list as in HoVer's official files (a list
    is read into memory as a whole). Claims have the same ids as in `admiral.io.claims.read_claims`.
    Without a name, the format is detected from the first record that has evidence. The formats are:

    ``pairs``
        `evidence`: [[title, sentence number], ...], as in the demo claims; optional `num_hops`.
    ``hover``
        `supporting_facts` of the same shape, and `num_hops`. In claims of `admiral synthesize`,
        `ordered` says that the documents can only be found in the order of the evidence.
    ``fever``
        `evidence`: [[[annotation, evidence id, page, sentence], ...], ...], alternative sets.
    ``feverous``
        `evidence`: [{"content": ["Title_sentence_0", ...]}, ...], alternative sets.
    ``kilt``
        `input` and `output`: [{"answer": label, "provenance": [{"title": ...}, ...]}, ...].
    ``pages``
        `gold_title_sets`: [[title, ...], ...], alternative sets; `gold`: [title, ...], one set; or
        `gold_pages_union`: [title, ...], each page a set of its own.
    ``hipporag``
        `question`, and `supporting_facts`: [[title, sentence number], ...], of which only the
        titles are read, or `paragraphs`: [{"title": ..., "is_supporting": true}, ...].

    `name`: one of `FORMATS`; None to detect the format. Raises RecordError for a bad record, naming
    file, line, field and remedy. Raises AdmiralError if the file cannot be read or holds no claims,
    or the format does not exist.
    """
    if name is not None and name not in _PARSERS:
        raise AdmiralError(f"gold format {name!r}: there are {', '.join(FORMATS)}")
    seen: dict[str, str] = {}
    for where, number, record in _records(path):
        if number == 1 and record.get("claim") == "" == record.get("id"):
            continue  # FEVEROUS's official files begin with an empty example
        name = name or _record_format(record, where)
        claim = _claim(record, name, where, number)
        if claim.id in seen:
            problem = f"{claim.id!r} is also the id at {seen[claim.id]}"
            raise RecordError(where, "id", problem, "Give every claim an id of its own")
        seen[claim.id] = where
        yield claim
    if not seen:
        raise AdmiralError(f"{path}: holds no claims. Each line must be one object: {_EXAMPLE}")


def detect_format(path: Path) -> str | None:
    """Return the format of a file of gold claims; None if no record has evidence."""
    names = (_record_format(record, where) for where, _, record in _records(path))
    return next(filter(None, names), None)


def _record_format(record: dict[str, Any], where: str) -> str | None:
    """Return the format of a record; None if its evidence is empty, as it can be in any format.

    Raises RecordError if the record has no field for evidence.
    """
    if "paragraphs" in record or ("question" in record and "supporting_facts" in record):
        return "hipporag"
    for name in ("hover", "kilt"):
        if any(field in record for field in _PARSERS[name][1]):
            return name
    evidence = record.get("evidence")
    if evidence is None:
        if any(field in record for field in _PARSERS["pages"][1]):
            return "pages"
        fields = sorted({field for _, names in _PARSERS.values() for field in names})
        problem = "no gold evidence: none of the fields " + ", ".join(fields)
        raise RecordError(where, "", problem, f"Give evidence, as in {_EXAMPLE}")
    first = evidence[0] if isinstance(evidence, list) and evidence else None
    if isinstance(first, dict):
        return "feverous"
    if isinstance(first, list) and first:
        return "fever" if isinstance(first[0], list) else "pairs"
    return None if evidence == [] else "pairs"


def _claim(record: dict[str, Any], name: str | None, where: str, number: int) -> GoldClaim:
    sets: list[EvidenceSet] = []
    n_ignored = 0
    if name is not None:
        parse, fields = _PARSERS[name]
        if not any(field in record for field in fields):
            problem = f"is missing, in a file of the format {name}"
            raise RecordError(
                where, fields[0], problem, "Correct it, or put each format into its own file"
            )
        sets, n_ignored = parse(record, where)
    distinct: dict[frozenset[tuple[str, int | None]], EvidenceSet] = {}
    for evidence_set in filter(None, sets):
        distinct.setdefault(frozenset(evidence_set), tuple(dict.fromkeys(evidence_set)))
    return GoldClaim(
        claim_id(record, where, number, _ID_FIELDS.get(name or "", ("id", "uid"))),
        claim_text(record, where, _TEXT_FIELDS.get(name or "", "claim")),
        _label(record, name, where),
        tuple(distinct.values()),
        _hops(record, where),
        n_ignored,
        _ordered(record, where),
    )


def _label(record: dict[str, Any], name: str | None, where: str) -> Label | None:
    field, value = "label", record.get("label")
    if name == "kilt":
        field = "output[].answer"
        answers = [output.get("answer") for output in record["output"]]
        value = next((answer for answer in answers if answer is not None), None)
    if value is None:
        return None
    try:
        return Label.parse(value)
    except (ValueError, AttributeError) as error:
        known = ", ".join(label.value for label in Label)
        problem = f"{value!r} is not a label"
        raise RecordError(where, field, problem, f"Give one of {known}") from error


def _hops(record: dict[str, Any], where: str) -> int | None:
    value = record.get("num_hops")
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_HOPS:
        return value
    problem = f"{value!r} is not a number of 1 or more"
    if isinstance(value, int) and value > _MOST_HOPS:
        problem = f"is larger than {_MOST_HOPS:,}"
    raise RecordError(where, "num_hops", problem, "Correct it")


def _ordered(record: dict[str, Any], where: str) -> bool:
    value = record.get("ordered", False)
    if isinstance(value, bool):
        return value
    raise RecordError(where, "ordered", f"{value!r} is neither true nor false", "Correct it")


def _records(path: Path) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield (place, number from 1, record) for each line, or each member of a JSON list."""
    lines = record_lines(path, "Write one record a line")
    for number, line in lines:
        if number == 1 and line.lstrip().startswith(b"["):
            yield from _members(path, b"".join([line, *(rest for _, rest in lines)]))
        else:
            where = f"{path}:{number}"
            yield where, number, parse_object(line, where, _EXAMPLE)


def _members(path: Path, text: bytes) -> Iterator[tuple[str, int, dict[str, Any]]]:
    try:
        members = json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = "Give one JSON list, or one JSON object on each line"
        raise RecordError(str(path), "", f"not a JSON list ({error})", remedy) from error
    for number, record in enumerate(members, 1):
        where = f"{path}: record {number}"
        if not isinstance(record, dict):
            raise RecordError(where, "", "not a JSON object", f"Write it as {_EXAMPLE}")
        yield where, number, record
