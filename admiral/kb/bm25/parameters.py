"""What both backends share: BM25 parameters, field weights, queries, and passages.

The score of a document is ``TITLE_WEIGHT * BM25(title) + TEXT_WEIGHT * BM25(text)``. To try other
weights, pass ``title_weight`` and ``text_weight`` to `KnowledgeBase.open`, or set them in the
retrieval configuration (``configs/retrieval.yaml``); an index need not be built again.

A document is indexed as one passage, or as several if it is long; its score is that of its best
passage. Passages are numbered in the order of rows. ``passages.npy`` lists those that are not the
first of their document; an index without long documents does not have this file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import MATCHING_FORM, matching_form
from trie.token_trie import open_array

# Term frequency saturation and length normalisation (paper, section 4).
K1, B = 0.6, 0.4
FIELDS = ("title", "text")


class Saturation(NamedTuple):
    """Parameters of BM25: term frequency saturation `k1` and length normalisation `b`."""

    k1: float = K1
    b: float = B


DEFAULT = Saturation()
# Default weights of the fields. Among title weights from 0 to 2, 0.5 found the most gold documents
# of HoVer's development claims. `admiral.config.RetrievalConfig` has the same defaults.
TITLE_WEIGHT, TEXT_WEIGHT = 0.5, 1.0
# The rest of a longer query is ignored: about 1,600 words, far more than a claim and its evidence.
MAX_QUERY_CHARACTERS = 10_000

SETTINGS_FILE = "bm25.json"
# Format 2 has documents with several passages. Others are written as format 1, which releases
# before 0.2.0 read too.
FORMAT, PASSAGE_FORMAT = 1, 2
# Control characters and lone surrogates separate words; Lucene and UTF-8 cannot hold the latter.
_NOT_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]+")
# Underscores around a word emphasise it in plain text; those within one are part of it.
_EMPHASIS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")


class RowIndex(Protocol):
    """A BM25 index over rows, where row ``i`` is the ``i``-th document that was indexed.

    The score of a passage is ``title_weight * BM25(title) + text_weight * BM25(text)``; that of a
    row is the score of its best passage. Each field has its own document frequencies and mean
    length, which count passages. A term that a query repeats counts each time. An index is a
    context manager and belongs to the process that opened it. `text_form` is the form of its texts
    and of queries.
    """

    text_form: int

    @property
    def passages(self) -> Passages:
        """The passages of all rows."""
        ...

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query, best first.

        Only documents that share a term with the query are returned. Ties are broken by row. A
        query may be any string; one without terms has no results. Raises AdmiralError if `k` is
        less than one, the index is closed, or its files turn out to be damaged.
        """
        ...

    def search_passages(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the numbers and scores of the top `k` passages, as `search_rows` does."""
        ...

    def passage_scores(self, query: str, rows: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Return the scores of the passages of each row, 0 for those without a term of the query.

        Errors are those of `search_rows`.
        """
        ...

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each index term.

        Removed ones may count until the knowledge base is compacted.
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
class IndexSettings:
    """Contents of ``bm25.json``, which is written last: a folder without it is not an index.

    `passages` is None if each document is one passage. `text_form` is the number of the form in
    which texts were indexed, in which queries must be too (`admiral.io.text_cleaning`).
    """

    backend: str
    documents: int
    k1: float = K1
    b: float = B
    passages: int | None = None
    text_form: int = MATCHING_FORM

    @property
    def saturation(self) -> Saturation:
        """The parameters of BM25."""
        return Saturation(self.k1, self.b)

    @property
    def entries(self) -> int:
        """Number of passages."""
        return self.documents if self.passages is None else self.passages

    def save(self, directory: Path) -> None:
        """Write the file into `directory`."""
        values = asdict(self)
        if self.passages is None:
            values |= {"format": FORMAT}
            del values["passages"]
        else:
            values |= {"format": PASSAGE_FORMAT}
        text = json.dumps(values, indent=2) + "\n"
        (directory / SETTINGS_FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> IndexSettings:
        """Read the file of `directory`; AdmiralError if it is missing, damaged or too new."""
        path = directory / SETTINGS_FILE
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            settings = cls(
                backend=str(record["backend"]),
                documents=int(record["documents"]),
                k1=float(record["k1"]),
                b=float(record["b"]),
                passages=int(record["passages"]) if "passages" in record else None,
                text_form=int(record.get("text_form", 1)),
            )
            format = int(record["format"])
        except FileNotFoundError:
            raise damaged_index_error(directory, f"{SETTINGS_FILE} is missing") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            problem = f"{SETTINGS_FILE} cannot be read ({error!r})"
            raise damaged_index_error(directory, problem) from error
        if settings.text_form > MATCHING_FORM:
            raise AdmiralError(
                f"{path}: field 'text_form' is {settings.text_form}: a later version wrote the "
                "index. Build the knowledge base again with this version."
            )
        if format not in (FORMAT, PASSAGE_FORMAT):
            raise AdmiralError(
                f"{path}: field 'format': this version reads formats {FORMAT} and "
                f"{PASSAGE_FORMAT}, the index has {format}. Build the knowledge base again with "
                "this version."
            )
        if (format == PASSAGE_FORMAT) != (settings.passages is not None):
            raise damaged_index_error(directory, f"{SETTINGS_FILE}: field 'passages'")
        if not 0 <= settings.documents <= settings.entries:
            problem = f"{SETTINGS_FILE} counts {settings.documents} documents"
            raise damaged_index_error(directory, problem)
        return settings


def common_saturation(directories: Sequence[Path]) -> Saturation:
    """Return the parameters of indexes that are searched or merged as one.

    Raises AdmiralError if they differ.
    """
    found = {IndexSettings.load(directory).saturation for directory in directories}
    if len(found) > 1:
        raise AdmiralError(
            f"{directories[0]}: the BM25 indexes have different parameters k1 and b. Build them "
            "with the same ones."
        )
    return found.pop() if found else DEFAULT


def common_text_form(directories: Sequence[Path]) -> int:
    """Return the form of texts of indexes that are searched or merged as one: the oldest."""
    forms = (IndexSettings.load(directory).text_form for directory in directories)
    return min(forms, default=MATCHING_FORM)


def damaged_index_error(directory: Path, problem: str) -> AdmiralError:
    """Return the error for an index that cannot be read."""
    return AdmiralError(
        f"{directory}: the BM25 index is damaged: {problem}. "
        "Build the knowledge base again (admiral index)."
    )


def clean_index_text(text: str, text_form: int = MATCHING_FORM) -> str:
    """Return a text as it is indexed: in a form, with spaces for what is no text."""
    text = _NOT_TEXT.sub(" ", text)
    if text_form < MATCHING_FORM:
        return text
    text = matching_form(text)
    return _EMPHASIS.sub(" ", text) if "_" in text else text


def clean_query(query: str, text_form: int = MATCHING_FORM) -> str:
    """Cut a query at MAX_QUERY_CHARACTERS and clean it as the documents were cleaned."""
    return clean_index_text(query[:MAX_QUERY_CHARACTERS], text_form)


def positive_weights(title_weight: float, text_weight: float) -> dict[str, float]:
    """Return the fields with a positive weight, and their weights.

    Raises AdmiralError if a weight is negative or not finite, or both are zero.
    """
    weights = dict(zip(FIELDS, (float(title_weight), float(text_weight)), strict=True))
    for field, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise AdmiralError(
                f"{field}_weight is {weight}: it must be a number, zero or more. "
                "Set it in the configuration or leave it out."
            )
    positive = {field: weight for field, weight in weights.items() if weight > 0}
    if not positive:
        raise AdmiralError(
            "title_weight and text_weight are both zero, so no document would be found. Raise one."
        )
    return positive


def check_depth(k: int) -> None:
    """Raise `AdmiralError` unless `k` is at least 1."""
    if k < 1:
        raise AdmiralError(f"{k} documents asked for: k must be at least 1.")


FILE = "passages.npy"
# The text of a document, or the first sentence and the text of each of its passages.
Text = str | Sequence[tuple[int, str]]
Rows = npt.NDArray[np.int64]


class Passages:
    """Numbers of the passages of one or more indexes.

    `later` holds the row and the first sentence of each passage that is not the first of its
    document, ascending: int64, (passages - documents, 2).
    """

    def __init__(self, documents: int, later: npt.NDArray[np.int64]) -> None:
        self.documents = documents
        self._later_rows, self._later_sentences = later[:, 0], later[:, 1]
        # The number of each later passage, int64, ascending.
        self._later = self._later_rows + np.arange(1, len(later) + 1)

    @classmethod
    def open(cls, *directories: Path) -> Passages:
        """Read the passages of indexes whose rows follow each other.

        Raises AdmiralError if a file is missing or damaged.
        """
        parts, documents = [np.empty((0, 2), dtype=np.int64)], 0
        for directory in directories:
            settings = IndexSettings.load(directory)
            if settings.passages is not None:
                parts.append(_read(directory, settings) + np.array([documents, 0]))
            documents += settings.documents
        return cls(documents, np.concatenate(parts))

    def __len__(self) -> int:
        return self.documents + len(self._later)

    def rows(self, passages: Rows) -> Rows:
        """Return the row of each passage."""
        return passages - self._later.searchsorted(passages, side="right")

    def of_rows(self, rows: Rows) -> Rows:
        """Return the numbers of all passages of some rows, ascending; `rows` are ascending."""
        if not len(self._later):
            return rows
        return np.flatnonzero(np.isin(self.rows(np.arange(len(self))), rows))

    def of_row(self, row: int) -> range:
        """Return the numbers of the passages of one row."""
        first, end = self._later_rows.searchsorted([row, row + 1])
        return range(row + int(first), row + int(end) + 1)

    def sentences(self, row: int) -> list[tuple[int, int | None]]:
        """Return the first sentence of each passage of a row and the end, None for the last."""
        first, end = self._later_rows.searchsorted([row, row + 1])
        starts = [0, *self._later_sentences[first:end].tolist()]
        return list(zip(starts, [*starts[1:], None], strict=True))

    def best(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the score of the best passage of each row, (documents,)."""
        if not len(self._later):
            return scores
        best = np.delete(scores, self._later)
        np.maximum.at(best, self._later_rows, scores[self._later])
        return best

    def save(self, directory: Path) -> int | None:
        """Write the file, unless no document has several passages.

        Return the number of passages; None if there is no file.
        """
        if not len(self._later):
            return None
        later = np.stack([self._later_rows, self._later_sentences], axis=1)
        np.save(directory / FILE, later, allow_pickle=False)
        return len(self)


class Entry(NamedTuple):
    """The indexed fields of a passage."""

    title: str
    text: str


class PassageRecorder:
    """Turn documents into the entries of an index, and note their passages.

    `documents` are (title, text) pairs, read once.
    """

    def __init__(self, documents: Iterable[tuple[str, Text]]) -> None:
        self._documents = documents
        self._count = 0
        self._later: list[tuple[int, int]] = []

    def entries(self) -> Iterator[Entry]:
        """Yield the entry of each passage, with the title of its document."""
        for row, (title, text) in enumerate(self._documents):
            self._count = row + 1
            passages = [(0, text)] if isinstance(text, str) else text
            for number, (first_sentence, passage) in enumerate(passages):
                if number:
                    self._later.append((row, first_sentence))
                yield Entry(title, passage)

    @property
    def passages(self) -> Passages:
        """The passages of all documents read so far."""
        later = np.array(self._later, dtype=np.int64).reshape(-1, 2)
        return Passages(self._count, later)


def _read(directory: Path, settings: IndexSettings) -> npt.NDArray[np.int64]:
    try:
        later = open_array(directory / FILE, mapped=False)
    except (OSError, ValueError) as error:
        raise damaged_index_error(directory, f"{FILE}: {error}") from error
    expected = (settings.entries - settings.documents, 2)
    valid = later.shape == expected and later.dtype == np.int64 and len(later) > 0
    if valid:
        rows, sentences = later[:, 0], later[:, 1]
        same_row = np.diff(rows, prepend=-1) == 0
        ascending = np.where(same_row, np.diff(sentences, prepend=0), sentences) > 0
        valid = bool((np.diff(rows, prepend=0) >= 0).all() and ascending.all())
        valid = valid and int(rows[-1]) < settings.documents
    if not valid:
        raise damaged_index_error(directory, f"{FILE}: not passages in ascending order")
    return later


def first_entries(directories: Sequence[Path]) -> list[int]:
    """Return the number of the first passage of each index, and the total number."""
    sizes = (IndexSettings.load(directory).entries for directory in directories)
    return list(accumulate(sizes, initial=0))
