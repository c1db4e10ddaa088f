"""TREC run files: ``query Q0 document rank score tag``, one line per document.

The document column is the id of the document in its corpus, so that qrels apply to the run. A
document without an id is named by its title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import write_atomically

# Columns end at white space, which trec_eval and Python define differently. Escaped is everything
# that is white space to either of them, or that cannot be printed.
_BLANK = r"\s\x00-\x1f\x7f-\xa0\ud800-\udfff\u200b-\u200f\u2028-\u202e\ufeff"
_UNPRINTABLE = re.compile(f"[{_BLANK}]")
_UNSAFE_IN_ID = re.compile(f"[%{_BLANK}]")
_UNSAFE_IN_TITLE = re.compile(f"[%{_BLANK}_]")


def escape_title(title: str) -> str:
    """Return a title as one column: spaces become ``_``, other unsafe characters ``%XX``.

    The mapping is injective, since ``_`` and ``%`` themselves are escaped; `unescape_title` is its
    inverse. The empty title becomes ``%``.
    """
    return _UNSAFE_IN_TITLE.sub(_underscore_or_hex, title) or "%"


def unescape_title(column: str) -> str:
    """Return the title of a column that `escape_title` wrote."""
    raw = b"" if column == "%" else unquote_to_bytes(column.replace("_", " "))
    return raw.decode("utf-8", "surrogatepass")


def id_column(id: str) -> str:
    """Return the id of a document as one column: as it is, if that is one printable word.

    Other ids are escaped like titles.
    """
    return id if id and not _UNPRINTABLE.search(id) else escape_title(id)


def document_column(document: Mapping[str, Any]) -> str:
    """Return the column of a document of a result record: its id, or its title if it has none."""
    id = document.get("id")
    return id_column(id) if id else escape_title(document["title"])


def unescape_id(column: str) -> str:
    """Return the query id of a column that `trec_lines` wrote."""
    return unquote_to_bytes(column).decode("utf-8", "surrogatepass")


def trec_lines(records: Iterable[Mapping[str, Any]], tag: str = "admiral") -> Iterator[str]:
    """Yield the lines of a run.

    The score column counts down from the number of documents to 1: evaluation tools sort by it, and
    the scores in the records come from different hops and are not comparable. White space and ``%``
    in a query id are written as ``%XX``. `tag` is the name of the run, the last column.
    """
    for record in records:
        query, documents = _UNSAFE_IN_ID.sub(_hex, str(record["id"])), record["documents"]
        for rank, document in enumerate(documents, 1):
            score = len(documents) + 1 - rank
            yield f"{query} Q0 {document_column(document)} {rank} {score} {tag}\n"


def write_trec(records: Iterable[Mapping[str, Any]], path: Path, tag: str = "admiral") -> None:
    """Write a run file, atomically.

    Raises AdmiralError if `path` cannot be written or `tag` is not one printable ASCII word.
    """
    if not re.fullmatch("[!-~]+", tag):
        raise AdmiralError(f"TREC tag {tag!r}: must be one word of printable ASCII characters")
    write_atomically(path, (line.encode("utf-8") for line in trec_lines(records, tag)))


def _hex(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _underscore_or_hex(match: re.Match[str]) -> str:
    return "_" if match.group() == " " else _hex(match)
