"""Claims with gold evidence: one record type, and one reader for all formats, given or detected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import chain
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
from admiral.gold.formats import FORMATS, EvidenceSet
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


class Label(Enum):
    """Label of a claim, with the spellings of FEVER and HoVer as values."""

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"
    NOT_SUPPORTED = "NOT_SUPPORTED"  # HoVer: refuted or not enough information

    @classmethod
    def parse(cls, text: str) -> Label:
        """Return the label that a data set spells as `text`; ValueError if it is none."""
        label = _SPELLINGS.get(text.replace("_", " ").strip().lower())
        if label is None:
            known = ", ".join(label.value for label in cls)
            raise ValueError(f"{text!r} is not a label such as {known}")
        return label


_SPELLINGS = {
    "supports": Label.SUPPORTS,
    "supported": Label.SUPPORTS,
    "support": Label.SUPPORTS,  # EX-FEVER
    "refutes": Label.REFUTES,
    "refuted": Label.REFUTES,
    "refute": Label.REFUTES,
    "not enough info": Label.NOT_ENOUGH_INFO,
    "not enough evidence": Label.NOT_ENOUGH_INFO,  # AVeriTeC
    "partially supported": Label.NOT_ENOUGH_INFO,  # WiCE
    "not supported": Label.NOT_SUPPORTED,
    "conflicting evidence/cherrypicking": Label.NOT_SUPPORTED,  # AVeriTeC
}


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """A claim with its gold evidence."""

    id: str  # id, unique within the file; `admiral retrieve` gives the claim the same id
    claim: str  # text of the claim; empty if the file does not give it
    label: Label | None  # none if the file gives no label
    # distinct alternative evidence sets, each enough by itself. Empty if no evidence is enough, or
    # if the evidence is not in sentences.
    evidence: tuple[EvidenceSet, ...]
    annotated_hops: int | None = None  # number of hops that the file gives; None if it gives none
    # number of evidence elements other than sentences (such as table cells), whose sets were left
    # out
    n_ignored_elements: int = 0
    ordered: bool = False  # whether the documents can only be found in the order of the evidence
    # the judged documents of a query with their grades, of which 1 and more are relevant; only in
    # qrels, which have no evidence and name documents as TREC runs do
    grades: tuple[tuple[str, int], ...] = ()

    @property
    def hops(self) -> int:
        """Annotated hops, otherwise the size of the smallest title set; 0 without evidence."""
        if self.annotated_hops is not None:
            return self.annotated_hops
        return min(map(len, self.title_sets), default=0)

    @property
    def title_sets(self) -> tuple[tuple[str, ...], ...]:
        """Distinct documents of each evidence set, in order; several sets may be equal."""
        return tuple(map(evidence_titles, self.evidence))

    @property
    def titles(self) -> tuple[str, ...]:
        """Distinct documents of the first evidence set, in order."""
        return self.title_sets[0] if self.evidence else ()

    @property
    def all_titles(self) -> tuple[str, ...]:
        """Distinct documents of all evidence sets, in order."""
        return evidence_titles(tuple(chain.from_iterable(self.evidence)))

    @property
    def has_alternatives(self) -> bool:
        """Whether there are evidence sets of different documents."""
        return len({frozenset(titles) for titles in self.title_sets}) > 1

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """Sentences of the first evidence set; empty if only documents are known."""
        first = self.evidence[0] if self.evidence else ()
        return tuple((title, number) for title, number in first if number is not None)

    def sentence_numbers(self, title: str) -> tuple[int, ...]:
        """Return the numbers of a document's sentences that are in any evidence set, in order."""
        sentences = chain.from_iterable(self.evidence)
        numbers = (number for other, number in sentences if other == title and number is not None)
        return tuple(dict.fromkeys(numbers))

    @property
    def refuted(self) -> bool | None:
        """Whether the evidence refutes the claim; None if the label does not say."""
        return {Label.SUPPORTS: False, Label.REFUTES: True}.get(self.label) if self.label else None


def evidence_titles(evidence: EvidenceSet) -> tuple[str, ...]:
    """Return the distinct documents of an evidence set, in order."""
    return tuple(dict.fromkeys(title for title, _ in evidence))


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

    The files, and the ids of claims, are those of `admiral.io.claims.read_claims`. Beside its
    evidence, a record may have a `label`, `num_hops`, and `ordered`, whether its documents can only
    be found in the order of the evidence.

    `name`: one of `FORMATS`; None to detect it from the first record that has evidence.
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
    """Return whether no record of a file has a label or a field for evidence, as in blind tests."""
    fields = {"label", *_EVIDENCE_FIELDS}
    return not any(record.get(field) for _, _, record in _records(path) for field in fields)


def _record_format(record: dict[str, Any], where: str) -> str | None:
    """Return the format of a record; None if its evidence is empty, as it can be in any format."""
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
    """Return whether a file is in lines of columns, and neither in JSON nor CSV with claims."""
    first = next(iter(record_lines(path, _QRELS_REMEDY)), None)
    if first is None or first[1].lstrip().startswith((b"{", b"[")):
        return False
    return not begins_table(first[1])


def read_qrels(path: Path) -> list[GoldClaim]:
    """Return one gold claim, without its text, for each query.

    Lines have either three columns separated by tabs, as in BEIR (query id, document id, grade; the
    first line may be a heading), or four separated by white space, as in TREC (query, an unused
    column, document, grade). Documents are named as in TREC runs (`admiral.io.result_writer`).
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
