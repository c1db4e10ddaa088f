"""Index terms, BM25 parameters, field weights, queries and passages of both BM25 backends.

The score of a document is ``TITLE_WEIGHT * BM25(title) + TEXT_WEIGHT * BM25(text)``. To try other
weights, pass ``title_weight`` and ``text_weight`` to `KnowledgeBase.open`, or set them in the
retrieval configuration (``configs/retrieval.yaml``); an index need not be built again.

A document is indexed as one passage, or as several if it is long; its score is that of its best
passage. Passages are numbered in the order of rows. ``passages.npy`` lists those that are not the
first of their document; an index without long documents does not have this file.

`terms` turns text into index terms as Lucene's English analyser does, by the steps of Anserini's
``DefaultEnglishAnalyzer``: split at Unicode's default word boundaries (UAX #29), remove
possessives, lower-case, remove English stop words, and apply Lucene's version of Porter's stemmer.
On 10,752 Wikipedia introductions, all but a few of 420,407 terms are the same. By these terms,
`best_sentences` and `matching_words` find the sentence of a document that fits a query, and its
words.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import regex
import Stemmer

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import MATCHING_FORM, matching_form
from admiral.records import Document, Sentence
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


def import_bm25s() -> Any:
    """Import and return bm25s, which imports numba if it is installed."""
    import bm25s

    # bm25s sets its own logger to DEBUG, and would report every index that is built.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


# Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET.
_STOP_WORDS = """a an and are as at be but by for if in into is it no not of on or such that the
their then there these they this to was will with"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Longer words are split into pieces of this many characters (StandardTokenizer's default).
MAX_WORD = 255

# The text between two default word boundaries. Runs of Thai, Lao, Khmer and Burmese letters, for
# which UAX #29 requires a dictionary, are not split.
_BETWEEN_BOUNDARIES = regex.compile(r"(?V1w)\p{LineBreak=SA}+|\b.+?\b", regex.DOTALL)
_WORD = regex.compile(r"[\p{L}\p{Nd}\p{Nl}\p{Extended_Pictographic}]")
# The terms of chunks up to this many characters are cached.
_LONGEST_CACHED = 64
_APOSTROPHES = "'’＇"
_POSSESSIVE = ("'s", "’s", "＇s")
# One vowel followed by one consonant: Porter's measure m > 0.
_MEASURE = regex.compile(r"[aeiou][^aeiou]|[^aeiou]y[^aeiouy]")

_stem = Stemmer.Stemmer("porter").stemWord


def terms(text: str) -> list[str]:
    """Return the index terms of `text` in order, with repetitions.

    Lone surrogates are not letters.
    """
    result: list[str] = []
    # Words contain no white space, and most chunks between white space repeat.
    for chunk in text.split():
        result.extend(_cached_terms(chunk) if len(chunk) <= _LONGEST_CACHED else _terms_of(chunk))
    return result


def _terms_of(chunk: str) -> tuple[str, ...]:
    return tuple(t for t in map(term, words(chunk)) if t)


_cached_terms = lru_cache(maxsize=1 << 18)(_terms_of)


def words(text: str) -> list[str]:
    """Return the words of `text` unchanged, none longer than `MAX_WORD` characters."""
    return [
        span[start : start + MAX_WORD]
        for span in _BETWEEN_BOUNDARIES.findall(text)
        if _WORD.search(span)
        for start in range(0, len(span), MAX_WORD)
    ]


def term(word: str) -> str:
    """Return the index term of one word, or an empty string for a stop word."""
    # Character by character, like Java: a capital İ becomes one letter, not two.
    word = word.lower().replace("i\u0307", "i").lstrip(_APOSTROPHES)
    if word.endswith(_POSSESSIVE):
        word = word[:-2]
    if word in STOP_WORDS:
        return ""
    return porter(word) if len(word) > 2 else word


def porter(word: str) -> str:
    """Stem a lower-case word as Lucene's PorterStemmer does.

    Lucene includes the two rules that Porter's own program adds to his paper: ``-bli`` becomes
    ``-ble`` and ``-logi`` becomes ``-log`` after a stem of measure m > 0.
    """
    stem: str = _stem(word)
    if stem.endswith("logi") and _MEASURE.search(stem[:-4]):
        return stem[:-1]
    if stem.endswith("bli") and _MEASURE.search(stem[:-3]):
        return str(_stem(stem[:-1] + "e"))
    return stem


def best_sentences(query: str, documents: Sequence[Document]) -> list[Sentence | None]:
    """Return the sentence of each document that shares most with a query; None without sentences.

    Rare words count more, by how many of the documents' sentences contain them. The first of equal
    sentences is returned.
    """
    wanted = set(_indexed(query))
    shared = [[wanted.intersection(_indexed(text)) for text in d.sentences] for d in documents]
    counts = Counter(term for document in shared for sentence in document for term in sentence)
    total = sum(map(len, shared))
    weights = {term: math.log(1 + total / count) for term, count in counts.items()}
    best: list[Sentence | None] = []
    for document, of_sentences in zip(documents, shared, strict=True):
        scores = [sum(weights[term] for term in of_sentence) for of_sentence in of_sentences]
        index = max(range(len(scores)), key=scores.__getitem__, default=None)
        best.append(
            None if index is None else Sentence(document.title, index, document.sentences[index])
        )
    return best


def matching_words(query: str, text: str) -> list[tuple[int, int]]:
    """Return the characters of each word of a text that has a term of a query: start and end."""
    wanted = set(_indexed(query))
    spans, end = [], 0
    for word in words(text):
        start = text.index(word, end)
        end = start + len(word)
        if wanted.intersection(_indexed(word)):
            spans.append((start, end))
    return spans


def _indexed(text: str) -> list[str]:
    return terms(clean_index_text(text))
