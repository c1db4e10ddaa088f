"""Unusual queries: syntax, control characters, great length, empty fields."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb.bm25 import BACKENDS, TEXT_WEIGHT, TITLE_WEIGHT

DOCUMENTS = [
    ("Harbour lamp", "A lamp that stands in a harbour."),
    ("title", "contents AND lamp OR singing"),
    ("", ""),
    ("[x] </s> \x00\ud800", "\x00 \ud800 \x1f"),
    ("Only a title", ""),
]
SYNTAX = [
    '"', "title:lamp", "lamp~2", "lam*", "*", "?", "(", ")", "((((", "lamp AND", "OR", "NOT",
    "+lamp -harbour", "[a TO b]", "{lamp}", "lamp^3", "lamp^^", "\\", "a\\", "/regex/", "!", "&&",
    "field:(", "lamp\u2028harbour", "\x00", "\x00lamp\x00", "\ud800", "lamp\udfff", "\ufeff",
]  # fmt: skip


def test_surrogates_and_controls_separate_words(backend, make):
    with make(backend, DOCUMENTS) as index:
        plain = index.search_rows(["harbour lamp"], 10)
        assert index.search_rows(["harbour\x00lamp\ud83d"], 10) == plain != [[]]


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60)
@given(queries=st.lists(st.text(st.characters(codec=None)), max_size=4), k=st.integers(1, 9))
def test_no_query_raises(backend, shared, queries, k):
    results = shared[backend].search_rows(queries, k)
    assert len(results) == len(queries)
    for hits in results:
        assert len(hits) <= k
        assert all(0 <= row < len(DOCUMENTS) and score > 0 for row, score in hits)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from admiral.kb.bm25 import build_bm25, open_bm25

    indexes = {}
    for backend in BACKENDS:
        directory = tmp_path_factory.mktemp("shared") / backend
        build_bm25(backend, DOCUMENTS, directory)
        indexes[backend] = open_bm25(backend, directory)
    yield indexes
    for index in indexes.values():
        index.close()


@pytest.mark.parametrize("field", [0, 1])
def test_a_field_may_be_empty_in_all_documents(backend, make, field):
    pair = ("lamp", "") if field == 0 else ("", "lamp")
    with make(backend, [pair, ("", ""), pair]) as index:
        assert [row for row, _ in index.search_rows(["lamp"], 1000)[0]] == [0, 2]


def test_a_field_of_weight_zero_is_not_searched(backend, make):
    with make(backend, [("lamp", "x"), ("x", "lamp")], 0.0, 1.0) as index:
        assert [row for row, _ in index.search_rows(["lamp"], 5)[0]] == [1]


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(backend, make, k):
    with make(backend, DOCUMENTS) as index, pytest.raises(AdmiralError, match="at least 1"):
        index.search_rows(["lamp"], k)


@pytest.mark.parametrize("pair", [(0, 0), (-1, 1), (1, float("nan")), (float("inf"), 1)])
def test_invalid_weights(backend, make, pair):
    with pytest.raises(AdmiralError, match="weight"):
        make(backend, DOCUMENTS, *pair)


def test_default_weights_equal_those_of_the_configuration():
    config = RetrievalConfig()
    assert (config.title_weight, config.text_weight) == (TITLE_WEIGHT, TEXT_WEIGHT)
