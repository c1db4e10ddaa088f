"""Read qrels, the graded relevance of documents to queries, as gold claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.gold.gold_claims import GoldClaim
from admiral.io.published_records import begins_table
from admiral.io.streams import record_lines
from admiral.io.trec import id_column, unescape_id

_REMEDY = "Give qrels as BEIR or TREC have them"


def is_qrels(path: Path) -> bool:
    """Return whether a file is in lines of columns, and neither in JSON nor CSV with claims.

    Raises AdmiralError if the file cannot be read.
    """
    first = next(iter(record_lines(path, _REMEDY)), None)
    if first is None or first[1].lstrip().startswith((b"{", b"[")):
        return False
    return not begins_table(first[1].decode("utf-8", "replace"))


def read_qrels(path: Path) -> list[GoldClaim]:
    """Return one gold claim, without its text, for each query.

    Lines have either three columns separated by tabs, as in BEIR (query id, document id, grade; the
    first line may be a heading), or four separated by white space, as in TREC (query, an unused
    column, document, grade). Documents are named as in TREC runs (`admiral.io.trec`). Raises
    RecordError for a line of other columns, a grade that is not an integer, or a document that is
    judged twice with different grades. Raises AdmiralError if the file cannot be read or holds no
    judgement.
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
    """Yield the place, query id, document column and grade of each line."""
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
