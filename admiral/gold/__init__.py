"""Claims with gold evidence: one record type, and one reader for all formats, given or detected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    TypeAdapter,
    ValidationError,
)

from admiral.errors import AdmiralError, RecordError, problem_of
from admiral.gold.formats import FORMATS
from admiral.gold.gold_claims import EvidenceSet, GoldClaim, Label, evidence_titles
from admiral.io.claims import (
    PlacedRecord,
    begins_table,
    claim_of_record,
    distinct,
    is_wafer,
    placed_records,
)
from admiral.io.result_writer import id_column, unescape_id
from admiral.io.streams import record_lines
from admiral.records import read_record

__all__ = [
    "FORMATS",
    "EvidenceSet",
    "GoldClaim",
    "Label",
    "detect_format",
    "evidence_titles",
    "is_blind",
    "read_gold",
]


# Formats that a field of a record tells, in the order in which they are tried.
_TOLD_BY_FIELD = ("hover", "kilt", "averitec", "ex-fever", "fool-me-twice", "wice")
_EVIDENCE_FIELDS = sorted({field.name for fields in FORMATS.values() for field in fields})
_EXAMPLE = '{"claim": "...", "evidence": [["title", 0]]}'
_REMEDY = "Correct the record, or name the file's format"


def _label(value: Any) -> Label | None:
    return None if value is None else Label.parse(str(value))


class _Annotation(BaseModel):
    """The fields beside its evidence that a record of any format may have."""

    label: Annotated[Label | None, BeforeValidator(_label)] = None
    # Groups of claims by hops are counted in 64 bits.
    num_hops: Annotated[StrictInt, Field(ge=1, le=1_000_000)] | None = None
    ordered: StrictBool = False


def read_gold(path: Path, name: str | None = None) -> Iterator[GoldClaim]:
    """Yield the claims of a file with their gold evidence, in order.

    The file is JSON Lines, one JSON list as in HoVer's official files (read into memory as a whole)
    or CSV with a heading; compressed or not. Claims and their ids are read as in
    `admiral.io.claims.read_claims`, which accepts the same files.
    Without a name, the format is detected from the first record that has evidence. The formats are
    those of `admiral.gold.formats`. Beside its evidence, a record may have a `label`, `num_hops`,
    and `ordered`, whether its documents can only be found in the order of the evidence.

    `name`: one of `FORMATS`; None to detect the format. Raises RecordError for a bad record, naming
    file, line, field and remedy. Raises AdmiralError if the file cannot be read or holds no claims,
    or the format does not exist.
    """
    if name is not None and name not in FORMATS:
        raise AdmiralError(f"gold format {name!r}: there are {', '.join(FORMATS)}")
    empty = True
    for claim in distinct(_placed_claims(path, name)):
        empty = False
        yield claim
    if empty:
        raise AdmiralError(f"{path}: holds no claims. Each line must be one object: {_EXAMPLE}")


def _placed_claims(path: Path, name: str | None) -> Iterator[tuple[str, GoldClaim]]:
    for where, number, record in _records(path):
        name = name or _record_format(record, where)
        yield where, _claim(record, name, where, number)


def detect_format(path: Path) -> str | None:
    """Return the format of a file of gold claims; None if no record has evidence."""
    names = (_record_format(record, where) for where, _, record in _records(path))
    return next(filter(None, names), None)


def is_blind(path: Path) -> bool:
    """Return whether no record of a file has a label or a field for evidence, as in blind tests.

    Raises AdmiralError if the file cannot be read.
    """
    fields = {"label", *_EVIDENCE_FIELDS}
    return not any(record.get(field) for _, _, record in _records(path) for field in fields)


def _record_format(record: dict[str, Any], where: str) -> str | None:
    """Return the format of a record; None if its evidence is empty, as it can be in any format.

    Raises RecordError if the record has no field for evidence.
    """
    if "paragraphs" in record or ("question" in record and "supporting_facts" in record):
        return "hipporag"
    if is_wafer(record):
        return "wafer"
    for name in _TOLD_BY_FIELD:
        if any(field.name in record for field in FORMATS[name]):
            return name
    evidence = record.get("evidence")
    if evidence is None:
        if any(field.name in record for field in FORMATS["pages"]):
            return "pages"
        problem = "no gold evidence: none of the fields " + ", ".join(_EVIDENCE_FIELDS)
        remedy = (
            f"Give evidence, as in {_EXAMPLE}. Of a blind test, only the submission can be "
            "written: add --submission FILE"
        )
        raise RecordError(where, "", problem, remedy)
    first = evidence[0] if isinstance(evidence, list) and evidence else None
    if isinstance(first, dict):
        return "feverous"
    if isinstance(first, list) and first:
        return "fever" if isinstance(first[0], list) else "pairs"
    return None if evidence == [] else "pairs"


def _claim(record: dict[str, Any], name: str | None, where: str, number: int) -> GoldClaim:
    annotation = read_record(_Annotation, record, where, _REMEDY)
    sets = [] if name is None else _sets(record, name, where)
    left_out = 0
    label = annotation.label
    if name == "feverous":
        # Sets with elements other than sentences: their sentences alone are not enough.
        left_out = sum(number is None for one in sets for _, number in one)
        sets = [one for one in sets if all(number is not None for _, number in one)]
    elif name == "kilt":
        label = _label_among_answers(record["output"])
    elif name == "wice" and label is Label.NOT_SUPPORTED:
        label = Label.NOT_ENOUGH_INFO  # of a page that does not say it; none is refuted
    distinct: dict[frozenset[tuple[str, int | None]], EvidenceSet] = {}
    for evidence in filter(None, sets):
        distinct.setdefault(frozenset(evidence), tuple(dict.fromkeys(evidence)))
    claim = claim_of_record(record, where, number)
    return GoldClaim(
        claim.id,
        claim.text,
        label,
        tuple(distinct.values()),
        annotation.num_hops,
        left_out,
        annotation.ordered,
    )


def _sets(record: dict[str, Any], name: str, where: str) -> list[EvidenceSet]:
    field = next((field for field in FORMATS[name] if field.name in record), None)
    if field is None:
        problem = f"is missing, in a file of the format {name}"
        remedy = "Correct it, or put each format into its own file"
        raise RecordError(where, FORMATS[name][0].name, problem, remedy)
    try:
        value = _adapter(field.kind).validate_python(record[field.name])
        return field.sets(value, record)
    except ValidationError as error:
        inner, problem = problem_of(error)
        raise RecordError(where, field.name + inner, problem, _REMEDY) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise RecordError(where, field.name, str(error), _REMEDY) from error


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def _label_among_answers(outputs: list[dict[str, Any]]) -> Label | None:
    """Return the label among the answers of KILT, None if they are those of a question."""
    for output in outputs:
        with suppress(ValueError):
            return Label.parse(str(output.get("answer")))
    return None


def _records(path: Path) -> Iterator[PlacedRecord]:
    lines = record_lines(path, "Write one record a line")
    for item in placed_records(lines, str(path), _EXAMPLE):
        if isinstance(item, RecordError):
            raise item
        yield item


_QRELS_REMEDY = "Give qrels as BEIR or TREC have them"


def is_qrels(path: Path) -> bool:
    """Return whether a file is in lines of columns, and neither in JSON nor CSV with claims.

    Raises AdmiralError if the file cannot be read.
    """
    first = next(iter(record_lines(path, _QRELS_REMEDY)), None)
    if first is None or first[1].lstrip().startswith((b"{", b"[")):
        return False
    return not begins_table(first[1])


def read_qrels(path: Path) -> list[GoldClaim]:
    """Return one gold claim, without its text, for each query.

    Lines have either three columns separated by tabs, as in BEIR (query id, document id, grade; the
    first line may be a heading), or four separated by white space, as in TREC (query, an unused
    column, document, grade). Documents are named as in TREC runs (`admiral.io.result_writer`).
    Raises RecordError for a line of other columns, a grade that is not an integer, or a document
    that is judged twice with different grades. Raises AdmiralError if the file cannot be read or
    holds no judgement.
    """
    grades: dict[str, dict[str, int]] = {}
    for where, query, column, grade in _judgements(path):
        of_query = grades.setdefault(query, {})
        if of_query.setdefault(column, grade) != grade:
            problem = f"{column!r} also has the grade {of_query[column]} for query {query!r}"
            raise RecordError(where, "grade", problem, "Keep one judgement")
    if not grades:
        raise AdmiralError(f"{path}: holds no judgements. {_QRELS_REMEDY}")
    return [
        GoldClaim(query, "", None, (), grades=tuple(judged.items()))
        for query, judged in grades.items()
    ]


def _judgements(path: Path) -> Iterator[tuple[str, str, str, int]]:
    for number, line in record_lines(path, _QRELS_REMEDY):
        where = f"{path}:{number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise RecordError(where, "", "is not UTF-8", "Save the file as UTF-8") from error
        if len(cells := [cell.strip() for cell in text.split("\t")]) == 3:
            query, column = cells[0], id_column(cells[1])
        elif len(cells := text.split()) == 4:
            query, column = unescape_id(cells[0]), cells[2]
        else:
            problem = "is neither three columns separated by tabs nor four by white space"
            raise RecordError(where, "", problem, _QRELS_REMEDY)
        try:
            yield where, query, column, int(cells[-1])
        except ValueError as error:
            if number == 1 and len(cells) == 3:
                continue  # the heading
            problem = f"{cells[-1]!r} is not an integer"
            raise RecordError(where, "grade", problem, _QRELS_REMEDY) from error
