"""Turn texts and queries into the terms of both BM25 backends.

`clean_index_text` brings a text into the form that is indexed. `terms` turns that into index terms
as Lucene's English analyser does, by the steps of Anserini's ``DefaultEnglishAnalyzer``: split at
Unicode's default word boundaries (UAX #29), remove possessives, lower-case, remove English stop
words, and apply Lucene's version of Porter's stemmer. On 10,752 Wikipedia introductions, all but a
few of 420,407 terms are the same. By these terms, `best_sentences` and `matching_words` find the
sentence of a document that fits a query, and its words.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import regex
import Stemmer

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import matching_form
from admiral.records import Document, Sentence

# The rest of a longer query is ignored: about 1,600 words, far more than a claim and its evidence.
MAX_QUERY_CHARACTERS = 10_000

# Control characters and lone surrogates separate words; Lucene and UTF-8 cannot hold the latter.
_NOT_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]+")
# Underscores around a word emphasise it in plain text; those within one are part of it.
_EMPHASIS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
# A comma between the thousands of a number: 1,250,000 and 1250000 are one term.
_THOUSANDS = re.compile(r"(?<![\d,.])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
# Letters with signs that no word has: C++, C# and C would be one term.
_SIGNS = re.compile(r"\b([A-Za-z])(\+\+|#)(?!\w)")
_SIGN_WORDS = {"++": "plusplus", "#": "sharp"}


def clean_index_text(text: str) -> str:
    """Return a text as it is indexed: in the form for matching, spaces for what is no text."""
    text = matching_form(_NOT_TEXT.sub(" ", text))
    if "_" in text:
        text = _EMPHASIS.sub(" ", text)
    if "," in text:
        text = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)
    if "#" in text or "++" in text:
        text = _SIGNS.sub(lambda name: name[1] + _SIGN_WORDS[name[2]], text)
    return text


def clean_query(query: str) -> str:
    """Cut a query at MAX_QUERY_CHARACTERS and clean it as the documents were cleaned."""
    return clean_index_text(query[:MAX_QUERY_CHARACTERS])


def check_depth(k: int) -> None:
    """Raise `AdmiralError` unless `k` is at least 1."""
    if k < 1:
        raise AdmiralError(f"{k} documents asked for: k must be at least 1.")


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
