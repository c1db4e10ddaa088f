"""Long documents are indexed as passages; their score is that of the best one."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb.bm25 import build_bm25, open_bm25
from admiral.kb.bm25.analysis import terms
from tests.admiral.kb.bm25.test_rescoring import WORDS

_words = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
_passages = st.lists(_words, min_size=1, max_size=5).map(
    lambda texts: tuple((30 * number, text) for number, text in enumerate(texts))
)
_document = st.tuples(_words, _words | _passages)
_parts = st.lists(st.lists(_document, min_size=1, max_size=6), min_size=1, max_size=3)
_weights = st.sampled_from([(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.0, 0.0)])


def flat(documents):
    """Return each passage as a document of its own, and the row that it belongs to."""
    pairs, rows = [], []
    for row, (title, text) in enumerate(documents):
        for passage in [text] if isinstance(text, str) else [p for _, p in text]:
            pairs.append((title, passage))
            rows.append(row)
    return pairs, rows


def best_passages(index, rows, queries, k, removed):
    """Rank rows by their best passage, given an index of all passages as documents."""
    results = []
    for hits in index.search_rows(queries, len(rows)):
        best = {}
        for passage, score in hits:
            best.setdefault(rows[passage], score)
        ranked = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
        results.append([pair for pair in ranked if pair[0] not in removed][:k])
    return results


def check_best_passages(backend, data, folder):
    parts = data.draw(_parts)
    documents = [document for part in parts for document in part]
    pairs, passage_rows = flat(documents)
    removed = sorted(data.draw(st.sets(st.integers(0, len(documents) - 1), max_size=4)))
    queries = data.draw(st.lists(_words, min_size=1, max_size=3))
    k, (title, text) = data.draw(st.integers(1, 20)), data.draw(_weights)
    weights = {"title_weight": title, "text_weight": text}
    folders = [folder / str(number) for number in range(len(parts))]
    for part, place in zip(parts, folders, strict=True):
        build_bm25(backend, part, place)
    build_bm25(backend, documents, folder / "whole")
    build_bm25(backend, pairs, folder / "flat")
    gone = np.array([n for n, row in enumerate(passage_rows) if row in removed], dtype=np.int64)
    rows = np.array(removed, dtype=np.int64)
    with (
        open_bm25(backend, folder / "flat", removed=gone, **weights) as oracle,
        open_bm25(backend, *folders, removed=rows, **weights) as several,
        open_bm25(backend, folder / "whole", removed=rows, **weights) as whole,
    ):
        expected = best_passages(oracle, passage_rows, queries, k, set(removed))
        for index in (several, whole):
            assert index.search_rows(queries, k) == expected
            check_passage_scores(index, oracle, passage_rows, queries[0], removed)
        vocabulary = sorted({term for query in queries for term in terms(query)})
        frequencies = [several.document_frequencies(vocabulary) for _ in range(2)]
        assert frequencies[0] == oracle.document_frequencies(vocabulary)


def check_passage_scores(index, oracle, passage_rows, query, removed):
    scores = dict(oracle.search_rows([query], len(passage_rows))[0])
    rows = [row for row in reversed(range(passage_rows[-1] + 1)) if row not in removed]
    for row, values in zip(rows, index.passage_scores(query, rows), strict=True):
        own = [number for number, other in enumerate(passage_rows) if other == row]
        assert values.tolist() == pytest.approx([scores.get(n, 0.0) for n in own], rel=1e-6)
        spans = index.passages.sentences(row)
        starts = [30 * number for number in range(len(own))]
        assert spans == list(zip(starts, [*starts[1:], None], strict=True))


@given(data=st.data())
def test_a_bm25s_index_scores_documents_by_their_best_passage(data, tmp_path_factory):
    check_best_passages("bm25s", data, tmp_path_factory.mktemp("passages"))


@settings(max_examples=4)
@given(data=st.data())
def test_a_lucene_index_scores_documents_by_their_best_passage(data, tmp_path_factory):
    check_best_passages("lucene", data, tmp_path_factory.mktemp("passages"))


def files(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_an_index_of_short_documents_has_the_files_of_earlier_releases(tmp_path):
    texts = [("a", "lamp harbour"), ("b", "painted lamps")]
    build_bm25("bm25s", texts, tmp_path / "pairs")
    build_bm25("bm25s", [(title, ((0, text),)) for title, text in texts], tmp_path / "passages")
    assert files(tmp_path / "pairs") == files(tmp_path / "passages")
    assert "passages.npy" not in files(tmp_path / "pairs")
    written = json.loads((tmp_path / "pairs" / "bm25.json").read_text())
    assert written == {
        "backend": "bm25s",
        "documents": 2,
        "k1": 0.6,
        "b": 0.4,
        "text_form": 2,
        "format": 1,
    }


LONG = [("a", ((0, "lamp"), (30, "harbour"))), ("b", "painted"), ("c", ((0, "x"),))]


def test_releases_that_do_not_know_passages_refuse_an_index_that_has_them(backend, tmp_path):
    build_bm25(backend, LONG, tmp_path / "bm25")
    written = json.loads((tmp_path / "bm25" / "bm25.json").read_text())
    assert (written["format"], written["documents"], written["passages"]) == (2, 3, 4)


@pytest.mark.parametrize(
    "later",
    [
        np.array([[0, 0]]),
        np.array([[3, 30]]),
        np.array([[-1, 30]]),
        np.array([[0, 30], [0, 30]]),
        np.array([0, 30]),
        np.array([[0.0, 30.0]]),
    ],
)
def test_damaged_passages(backend, tmp_path, later):
    build_bm25(backend, LONG, tmp_path / "bm25")
    np.save(tmp_path / "bm25" / "passages.npy", later)
    with pytest.raises(AdmiralError, match=r"passages\.npy"):
        open_bm25(backend, tmp_path / "bm25")


def test_missing_passages(backend, tmp_path):
    build_bm25(backend, LONG, tmp_path / "bm25")
    (tmp_path / "bm25" / "passages.npy").unlink()
    with pytest.raises(AdmiralError, match=r"passages\.npy"):
        open_bm25(backend, tmp_path / "bm25")
