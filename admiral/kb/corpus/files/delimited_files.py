"""Read CSV and TSV files, as spreadsheets and databases write them: a row is a sentence."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import islice

from admiral.io.text_encodings import decode_text
from admiral.kb.corpus.files.extraction import LONGEST_TEXT, TextBuilder
from admiral.kb.corpus.files.table_grids import GridCell, add_grid

_DELIMITERS = ",;\t|"
_DECLARED = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)  # for Excel, before the first row
_SAMPLE = 1 << 16  # characters
_ROWS_LOOKED_AT = 100
_LINES_CUT_OFF = 20  # of a value at the end of a file that is cut off
_DECIMAL_COMMAS = re.compile(r"(?:[^,]|(?<=\d),(?=\d))*")


def read_csv(data: bytes, text: TextBuilder) -> None:
    """Read a file of values that are delimited by commas, semicolons, tabs or bars."""
    source = _decoded(data)
    if declared := _DECLARED.match(source):
        _add(source[declared.end() :], declared[1], text)
    else:
        _add(source, _delimiter(source), text)


def read_tsv(data: bytes, text: TextBuilder) -> None:
    """Read a file of values that are delimited by tabs."""
    source = _decoded(data)
    _add(source, "\t" if "\t" in source[:_SAMPLE] else _delimiter(source), text)


def _decoded(data: bytes) -> str:
    # The limit of a value is one of the whole module.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT))
    return decode_text(data)


def _add(source: str, delimiter: str, text: TextBuilder) -> None:
    lines = io.StringIO(source, newline="")
    if _is_quoted(source, delimiter):
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    else:
        rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    add_grid(([GridCell(value) for value in row] for row in rows), text)


def _is_quoted(source: str, delimiter: str) -> bool:
    """Return whether quotation marks enclose values.

    Not if one that nothing closes, such as an inch sign, would hide the rows after it in a value.
    """
    rows = csv.reader(
        io.StringIO(source, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    line = 0
    try:
        for _ in rows:
            line = rows.line_num
    except csv.Error as error:
        return "end of data" not in str(error) or rows.line_num - line < _LINES_CUT_OFF
    return True


def _delimiter(source: str) -> str:
    """Return the delimiter by which most rows have one number of columns."""
    sample = source[:_SAMPLE]
    if len(source) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample

    def regularity(delimiter: str) -> tuple[float, int]:
        rows = islice(
            csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), _ROWS_LOOKED_AT
        )
        widths = [len(row) for row in rows if any(row)]
        (width, count), *_ = Counter(widths).most_common(1) or [(1, 1)]
        return (count / len(widths), width) if width > 1 else (0.0, 1)

    scores = {delimiter: regularity(delimiter) for delimiter in _DELIMITERS}
    if scores[";"][0] and _DECIMAL_COMMAS.fullmatch(sample):
        return ";"
    return max(_DELIMITERS, key=lambda delimiter: scores[delimiter])
