"""Combined indexes with removed rows give the results of one new index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb.bm25 import K1, B, build_bm25, check_updatable, open_bm25
from admiral.kb.bm25.bm25s_index import FieldStatistics, bm25_scores, term_frequencies

WORDS = ["harbour", "lamps", "painted", "painter's", "the", "of", "Zürich", "1973", "x", "singing"]
Documents = list[tuple[str, str]]

_sentence = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
_long = st.lists(st.sampled_from(WORDS), min_size=30, max_size=90).map(" ".join)
_documents = st.lists(st.tuples(_sentence, _sentence | _long), min_size=1, max_size=8)
_weights = st.sampled_from([(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.0, 0.0)])


def search_combined(backend, folder, parts, removed, queries, k, weights):
    folders = []
    for number, part in enumerate(parts):
        folders.append(folder / f"{number}-{len(list(folder.iterdir()))}")
        build_bm25(backend, part, folders[-1])
    with open_bm25(
        backend,
        *folders,
        removed=np.array(sorted(removed), dtype=np.int64),
        title_weight=weights[0],
        text_weight=weights[1],
    ) as index:
        return index.search_rows(queries, k)


_parts = st.lists(_documents, min_size=1, max_size=4)


def _drawn(data, parts):
    """Draw rows to remove from parts, then queries, depth and weights."""
    rows = sum(map(len, parts))
    removed = sorted(data.draw(st.sets(st.integers(0, rows - 1), max_size=rows)))
    queries = data.draw(st.lists(_sentence, min_size=1, max_size=3))
    return removed, queries, data.draw(st.integers(1, 20)), data.draw(_weights)


@given(data=st.data(), parts=_parts)
def test_bm25s_scores_equal_those_of_a_new_index(data, parts, tmp_path_factory):
    removed, queries, k, weights = _drawn(data, parts)
    folder = tmp_path_factory.mktemp("deltas")
    results = search_combined("bm25s", folder, parts, removed, queries, k, weights)
    documents = [document for part in parts for document in part]
    rows = [row for row in range(len(documents)) if row not in removed]
    expected = search_combined(
        "bm25s", folder, [[documents[row] for row in rows]], [], queries, k, weights
    )
    # To the last bit, and in the same order.
    assert results == [[(rows[row], score) for row, score in hits] for hits in expected]


@settings(max_examples=5)
@given(data=st.data(), parts=_parts)
def test_lucene_scores_equal_those_of_an_index_with_the_removed_documents(
    data, parts, tmp_path_factory
):
    removed, queries, k, weights = _drawn(data, parts)
    folder = tmp_path_factory.mktemp("deltas")
    results = search_combined("lucene", folder, parts, removed, queries, k, weights)
    documents = [document for part in parts for document in part]
    everything = search_combined("lucene", folder, [documents], [], queries, 99, weights)
    expected = [[hit for hit in hits if hit[0] not in removed][:k] for hits in everything]
    assert results == expected


def test_many_removed_documents_rank_first(backend, tmp_path):
    base = [("lamp", "lamp")] * 300 + [("lamp", "lamp harbour painted")] * 3
    weights = (1.0, 1.0)
    (hits,) = search_combined(backend, tmp_path, [base], range(300), ["lamp"], 2, weights)
    assert [row for row, _ in hits] == [300, 301]
    (hits,) = search_combined(backend, tmp_path, [base], range(303), ["lamp"], 2, weights)
    assert hits == []


@given(
    times=st.lists(st.integers(1, 1700), min_size=1, max_size=20),
    other_documents=st.integers(0, 10**6),
    tokens=st.integers(0, 10**9),
)
def test_term_frequencies_invert_bm25_scores(times, other_documents, tokens):
    counts = np.array(times, dtype=np.float32)
    lengths = (counts + np.arange(len(times))).astype(np.int32)
    statistics = FieldStatistics(len(times) + other_documents, int(lengths.sum()) + tokens)
    scores = bm25_scores(counts, lengths, statistics.idf(len(times)), statistics.mean_length)
    mean = statistics.mean_length
    for count, length, score in zip(times, lengths.tolist(), scores.tolist(), strict=True):
        share = count / (K1 * (1 - B + B * length / mean) + count)
        assert score == pytest.approx(share * float(statistics.idf(len(times))), rel=1e-6)
    assert (
        term_frequencies(
            scores, lengths, statistics.idf(len(times)), statistics.mean_length
        ).tolist()
        == times
    )


def test_very_frequent_terms_are_rescored_to_the_last_bit(tmp_path):
    base = [("a", "lamp " * times) for times in (1, 1700, 5_000, 100_000)]
    delta = [("b", "lamp harbour")]
    combined = search_combined("bm25s", tmp_path, [base, delta], [], ["lamp"], 9, (1.0, 1.0))
    single = search_combined("bm25s", tmp_path, [base + delta], [], ["lamp"], 9, (1.0, 1.0))
    assert dict(combined[0]) == pytest.approx(dict(single[0]), rel=2e-7)  # the last bit of 24


def test_an_index_without_lengths_cannot_be_updated(backend, tmp_path):
    build_bm25(backend, [("a", "lamp")], tmp_path / "bm25")
    check_updatable(backend, tmp_path / "bm25")
    lengths = list((tmp_path / "bm25").rglob("lengths.npy"))
    assert bool(lengths) == (backend == "bm25s")
    for path in lengths:
        path.unlink()
        with pytest.raises(AdmiralError, match=r"lengths\.npy is missing"):
            check_updatable(backend, tmp_path / "bm25")


def test_lengths_of_other_documents(tmp_path):
    build_bm25("bm25s", [("a", "lamp")], tmp_path / "bm25")
    np.save(tmp_path / "bm25" / "text" / "lengths.npy", np.zeros(2, dtype=np.int32))
    with pytest.raises(AdmiralError, match="lengths of other documents"):
        open_bm25("bm25s", tmp_path / "bm25")
