"""Claims with gold evidence: one record type, and one reader for all formats, given or detected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.gold import gold_claims
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


# Format -> its parser, and the fields of which a record must have at least one.
_PARSERS: dict[str, tuple[gold_claims.Parser, tuple[str, ...]]] = {
    "pairs": (gold_claims.parse_pairs, ("evidence",)),
    "hover": (gold_claims.parse_hover, ("supporting_facts",)),
    "fever": (gold_claims.parse_fever, ("evidence",)),
    "feverous": (gold_claims.parse_feverous, ("evidence",)),
    "kilt": (gold_claims.parse_kilt, ("output",)),
    "pages": (gold_claims.parse_pages, ("gold_title_sets", "gold", "gold_pages_union")),
    "hipporag": (gold_claims.parse_hipporag, ("supporting_facts", "paragraphs")),
    "averitec": (gold_claims.parse_averitec, ("questions",)),
    "ex-fever": (gold_claims.parse_ex_fever, ("golden entity",)),
    "fool-me-twice": (gold_claims.parse_fool_me_twice, ("wikipedia_page",)),
    "wice": (gold_claims.parse_wice, ("supporting_sentences",)),
    "wafer": (gold_claims.parse_wafer, ("output",)),
}
FORMATS = tuple(_PARSERS)
# Formats that a field of a record tells, in the order in which they are tried.
_TOLD_BY_FIELD = ("hover", "kilt", "averitec", "ex-fever", "fool-me-twice", "wice")
# A larger number is an error of the file; groups of claims by hops are counted in 64 bits.
_MOST_HOPS = 1_000_000
_EXAMPLE = '{"claim": "...", "evidence": [["title", 0]]}'


def read_gold(path: Path, name: str | None = None) -> Iterator[GoldClaim]:
    """Yield the claims of a file with their gold evidence, in order.

    The file is JSON Lines, one JSON list as in HoVer's official files (read into memory as a whole)
    or CSV with a heading; compressed or not. Claims and their ids are read as in
    `admiral.io.claims.read_claims`, which accepts the same files.
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
    ``averitec``
        `questions`: [{"answers": [{"source_url": ...}, ...]}, ...], one set of pages by their URLs.
    ``ex-fever``
        `golden entity` in CSV: a list of page ids in Python's notation, one set.
    ``fool-me-twice``
        `wikipedia_page`: the title of the one page.
    ``wice``
        `supporting_sentences`: [[sentence number, ...], ...], alternative sets of the sentences
        `evidence`. The title is in its first one, or else that of the article (`meta.claim_title`).
    ``wafer``
        `output`: [{"answer": URL}, ...], each page a set of its own.

    `name`: one of `FORMATS`; None to detect the format. Raises RecordError for a bad record, naming
    file, line, field and remedy. Raises AdmiralError if the file cannot be read or holds no claims,
    or the format does not exist.
    """
    if name is not None and name not in _PARSERS:
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
    fields = {"label", *(field for _, names in _PARSERS.values() for field in names)}
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
        if any(field in record for field in _PARSERS[name][1]):
            return name
    evidence = record.get("evidence")
    if evidence is None:
        if any(field in record for field in _PARSERS["pages"][1]):
            return "pages"
        fields = sorted({field for _, names in _PARSERS.values() for field in names})
        problem = "no gold evidence: none of the fields " + ", ".join(fields)
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
    claim = claim_of_record(record, where, number)
    return GoldClaim(
        claim.id,
        claim.text,
        _label(record, name, where),
        tuple(distinct.values()),
        _hops(record, where),
        n_ignored,
        _ordered(record, where),
    )


def _label(record: dict[str, Any], name: str | None, where: str) -> Label | None:
    if name == "kilt":
        return _label_among_answers(record["output"])
    value = record.get("label")
    if value is None:
        return None
    try:
        label = Label.parse(value)
    except (ValueError, AttributeError) as error:
        known = ", ".join(label.value for label in Label)
        problem = f"{value!r} is not a label"
        raise RecordError(where, "label", problem, f"Give one of {known}") from error
    if name == "wice" and label is Label.NOT_SUPPORTED:
        return Label.NOT_ENOUGH_INFO  # of a page that does not say it; none is refuted
    return label


def _label_among_answers(outputs: list[dict[str, Any]]) -> Label | None:
    """Return the label among the answers of KILT, None if they are those of a question."""
    for output in outputs:
        try:
            return Label.parse(output["answer"])
        except (KeyError, ValueError, AttributeError):
            continue
    return None


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


def _records(path: Path) -> Iterator[PlacedRecord]:
    lines = record_lines(path, "Write one record a line")
    for item in placed_records(lines, str(path), _EXAMPLE):
        if isinstance(item, RecordError):
            raise item
        yield item


_REMEDY = "Give qrels as BEIR or TREC have them"


def is_qrels(path: Path) -> bool:
    """Return whether a file is in lines of columns, and neither in JSON nor CSV with claims.

    Raises AdmiralError if the file cannot be read.
    """
    first = next(iter(record_lines(path, _REMEDY)), None)
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
        raise AdmiralError(f"{path}: holds no judgements. {_REMEDY}")
    return [
        GoldClaim(query, "", None, (), grades=tuple(judged.items()))
        for query, judged in grades.items()
    ]


def _judgements(path: Path) -> Iterator[tuple[str, str, str, int]]:
    for number, line in record_lines(path, _REMEDY):
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
            raise RecordError(where, "", problem, _REMEDY)
        try:
            yield where, query, column, int(cells[-1])
        except ValueError as error:
            if number == 1 and len(cells) == 3:
                continue  # the heading
            problem = f"{cells[-1]!r} is not an integer"
            raise RecordError(where, "grade", problem, _REMEDY) from error
