"""What both backends share: the protocol, the parameters, and the settings file of an index."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from admiral.errors import AdmiralError

K1, B = 0.6, 0.4
FIELDS = ("title", "text")
SETTINGS_FILE = "bm25.json"
FORMAT = 1
# Only so much of a query is read: some 1,600 words, far more than any claim with its evidence.
MAX_QUERY_CHARACTERS = 10_000

# Controls and lone surrogates separate words; neither Lucene nor UTF-8 can hold the latter.
_NOT_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]+")


class RowIndex(Protocol):
    """A BM25 index over rows: row ``i`` is the ``i``-th document that was indexed.

    The score of a row is ``title_weight * BM25(title) + text_weight * BM25(text)``, each field
    with its own document frequencies and mean length; a term that a query repeats counts as often
    as it is repeated. An index is a context manager, and belongs to the process that opened it.
    """

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of at most `k` documents for each query, best first.

        Only documents that share a term with the query are returned; ties are broken by row.
        A query may be any string: without terms it finds nothing.

        Raises
        ------
        AdmiralError
            If `k` is less than one, the index is closed, or its files turn out to be damaged.
        """
        ...

    def close(self) -> None:
        """Release the files; the index may not be used afterwards."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """The contents of ``bm25.json``, written last: without it a folder is no index."""

    backend: str
    documents: int
    k1: float = K1
    b: float = B
    format: int = FORMAT

    def save(self, directory: Path) -> None:
        """Write the file into `directory`."""
        text = json.dumps(asdict(self), indent=2) + "\n"
        (directory / SETTINGS_FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> Settings:
        """Read the file of `directory`; `AdmiralError` if it is missing, damaged or too new."""
        path = directory / SETTINGS_FILE
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            settings = cls(
                backend=str(record["backend"]),
                documents=int(record["documents"]),
                k1=float(record["k1"]),
                b=float(record["b"]),
                format=int(record["format"]),
            )
        except FileNotFoundError:
            raise damaged(directory, f"{SETTINGS_FILE} is missing") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(directory, f"{SETTINGS_FILE} cannot be read ({error!r})") from error
        if settings.format != FORMAT:
            raise AdmiralError(
                f"{path}: field 'format': this version reads format {FORMAT}, the index has "
                f"{settings.format}. Build the knowledge base again with this version."
            )
        if settings.documents < 0:
            raise damaged(directory, f"{SETTINGS_FILE} counts {settings.documents} documents")
        return settings


def damaged(directory: Path, problem: str) -> AdmiralError:
    """Return the error for an index that cannot be read."""
    return AdmiralError(
        f"{directory}: the BM25 index is damaged: {problem}. "
        "Build the knowledge base again (admiral index)."
    )


def clean(text: str) -> str:
    """Return `text` with controls and lone surrogates as spaces."""
    return _NOT_TEXT.sub(" ", text)


def clean_query(query: str) -> str:
    """Return the part of a query that is searched for."""
    return clean(query[:MAX_QUERY_CHARACTERS])


def check_weights(title_weight: float, text_weight: float) -> dict[str, float]:
    """Return the weight of each field that counts; `AdmiralError` if they make no ranking."""
    weights = dict(zip(FIELDS, (float(title_weight), float(text_weight)), strict=True))
    for field, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise AdmiralError(
                f"{field}_weight is {weight}: it must be a number, zero or more. "
                "Set it in the configuration or leave it out."
            )
    used = {field: weight for field, weight in weights.items() if weight > 0}
    if not used:
        raise AdmiralError(
            "title_weight and text_weight are both zero: nothing would be found. Raise one."
        )
    return used


def check_depth(k: int) -> None:
    """Raise `AdmiralError` unless at least one document is asked for."""
    if k < 1:
        raise AdmiralError(f"{k} documents asked for: k must be at least 1.")
