"""TREC run files: ``query Q0 document rank score tag``, one line per document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import write_atomically

# A run's columns end at white space, which trec_eval and Python define differently: everything
# that either calls white space or that cannot be printed is escaped.
_UNSAFE = r"%\s\x00-\x1f\x7f-\xa0\ud800-\udfff\u200b-\u200f\u2028-\u202e\ufeff"
_UNSAFE_IN_ID = re.compile(f"[{_UNSAFE}]")
_UNSAFE_IN_TITLE = re.compile(f"[{_UNSAFE}_]")


def escape_title(title: str) -> str:
    """Return `title` as one column: spaces become ``_``, other unsafe characters ``%XX``.

    The mapping is one to one (``_`` and ``%`` themselves are escaped); `unescape_title` undoes it.
    The empty title is ``%``.
    """
    return _UNSAFE_IN_TITLE.sub(_underscore_or_hex, title) or "%"


def unescape_title(column: str) -> str:
    """Return the title that `escape_title` made `column` of."""
    raw = b"" if column == "%" else unquote_to_bytes(column.replace("_", " "))
    return raw.decode("utf-8", "surrogatepass")


def unescape_id(column: str) -> str:
    """Return the query id that `trec_lines` made `column` of."""
    return unquote_to_bytes(column).decode("utf-8", "surrogatepass")


def trec_lines(records: Iterable[Mapping[str, Any]], tag: str = "admiral") -> Iterator[str]:
    """Yield the lines of a run for result records, in their order.

    The score column counts down from the number of documents to 1: evaluation tools sort by it,
    and the records' own scores belong to different hops, which are not comparable. White space
    and ``%`` in a query id are written as ``%XX``.
    """
    for record in records:
        query, documents = _UNSAFE_IN_ID.sub(_hex, str(record["id"])), record["documents"]
        for rank, document in enumerate(documents, 1):
            score = len(documents) + 1 - rank
            yield f"{query} Q0 {escape_title(document['title'])} {rank} {score} {tag}\n"


def write_trec(records: Iterable[Mapping[str, Any]], path: Path, tag: str = "admiral") -> None:
    """Write a run file, atomically.

    Raises
    ------
    AdmiralError
        If `path` cannot be written or `tag` is not one printable ASCII word.
    """
    if not re.fullmatch("[!-~]+", tag):
        raise AdmiralError(f"TREC tag {tag!r}: must be one word of printable ASCII characters")
    write_atomically(path, (line.encode("utf-8") for line in trec_lines(records, tag)))


def _hex(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _underscore_or_hex(match: re.Match[str]) -> str:
    return "_" if match.group() == " " else _hex(match)
