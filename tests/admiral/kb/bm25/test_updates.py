"""A changed index gives the results of one that is built anew, with long documents too."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.kb.bm25 import RowIndex, build_bm25, update_bm25
from admiral.kb.bm25.analysis import terms

WORDS = ["harbour", "lamps", "painted", "painter's", "the", "of", "Zürich", "1973", "x", "singing"]

_words = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
_long = st.lists(st.sampled_from(WORDS), min_size=30, max_size=90).map(" ".join)
_passages = st.lists(_words, min_size=1, max_size=5).map(
    lambda texts: tuple((30 * number, text) for number, text in enumerate(texts))
)
_documents = st.lists(st.tuples(_words, _words | _long | _passages), max_size=6)
_weights = st.sampled_from([(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.0, 0.0)])


def check_same_hits(found, expected):
    """Check that hits are the same, their scores within 1e-4, but for the order of near ties."""
    for hits, others in zip(found, expected, strict=True):
        scores = {hit[:-1]: hit[-1] for hit in hits}
        assert scores == pytest.approx({hit[:-1]: hit[-1] for hit in others}, abs=1e-4)


def check_changes(backend, data, folder):
    """Change an index at random, and compare it with one of what it then holds."""
    documents, row = {}, 0
    for step in range(data.draw(st.integers(1, 4))):
        removed = data.draw(st.sets(st.sampled_from(sorted(documents)))) if documents else set()
        added = []
        for pair in data.draw(_documents):
            row += data.draw(st.integers(1, 3))
            added.append((row, *pair))
        if step:
            update_bm25(folder / str(step - 1), folder / str(step), removed, added)
        else:
            build_bm25(backend, added, folder / "0")
            removed = set()
        documents = {n: d for n, d in documents.items() if n not in removed}
        documents |= {document[0]: document for document in added}
    build_bm25(backend, documents.values(), folder / "anew")
    queries = data.draw(st.lists(_words, min_size=1, max_size=3))
    title, text = data.draw(_weights)
    weights = {"title_weight": title, "text_weight": text}
    with (
        RowIndex(folder / str(step), **weights) as changed,
        RowIndex(folder / "anew", **weights) as anew,
    ):
        assert len(changed) == len(anew)
        check_same_hits(changed.search(queries, 99), anew.search(queries, 99))
        check_same_hits(changed.search_passages(queries, 99), anew.search_passages(queries, 99))
        vocabulary = sorted({term for query in queries for term in terms(query)})
        assert changed.document_frequencies(vocabulary) == anew.document_frequencies(vocabulary)
        check_passages(anew, documents, queries[0])
        check_passages(changed, documents, queries[0])


def check_passages(index, documents, query):
    """Check that documents have the scores of their best passages."""
    (hits,) = index.search_passages([query], 99)
    scores = {(row, number): score for row, number, score in hits}
    best = {}
    for row, _, score in hits:
        best.setdefault(row, score)
    ranked = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
    for k in (1, 2, 99):
        assert index.search([query], k) == [ranked[:k]]
    rows = sorted(documents, reverse=True)
    for row, values in zip(rows, index.passage_scores(query, rows), strict=True):
        expected = [scores.get((row, number), 0.0) for number in range(len(values))]
        assert values.tolist() == pytest.approx(expected, rel=1e-6)
        text = documents[row][2]
        starts = [0] if isinstance(text, str) else [start for start, _ in text]
        assert index.sentences(row) == list(zip(starts, [*starts[1:], None], strict=True))


@given(data=st.data())
def test_a_changed_bm25s_index_equals_one_that_is_built_anew(data, tmp_path_factory):
    check_changes("bm25s", data, tmp_path_factory.mktemp("changes"))


@settings(max_examples=5)
@given(data=st.data())
def test_a_changed_lucene_index_equals_one_that_is_built_anew(data, tmp_path_factory):
    check_changes("lucene", data, tmp_path_factory.mktemp("changes"))


def test_many_small_changes(backend, tmp_path):
    build_bm25(backend, [(0, "lamp", "lamp 0")], tmp_path / "0")
    for number in range(1, 25):
        removed = [number - 3] if number % 3 == 0 else []
        added = [(number, "lamp", f"lamp {number}")]
        update_bm25(tmp_path / str(number - 1), tmp_path / str(number), removed, added)
    rows = [row for row in range(25) if row % 3 or row > 21]
    build_bm25(backend, [(row, "lamp", f"lamp {row}") for row in rows], tmp_path / "anew")
    with RowIndex(tmp_path / "24") as changed, RowIndex(tmp_path / "anew") as anew:
        found = changed.search(["lamp", "lamp 20"], 99)
        check_same_hits(found, anew.search(["lamp", "lamp 20"], 99))
        assert [row for row, _ in found[0]] == rows


def test_very_frequent_terms(backend, tmp_path):
    texts = ["lamp " * times for times in (1, 255, 256, 70_000)]
    documents = [(row, "a", text) for row, text in enumerate(texts)]
    build_bm25(backend, documents[:-1], tmp_path / "old")
    update_bm25(tmp_path / "old", tmp_path / "new", [], documents[-1:])
    build_bm25(backend, documents, tmp_path / "anew")
    with RowIndex(tmp_path / "new") as changed, RowIndex(tmp_path / "anew") as anew:
        check_same_hits(changed.search(["lamp"], 9), anew.search(["lamp"], 9))
