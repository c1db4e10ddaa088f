"""A merged index gives the results of one index of all documents."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb.bm25 import build_bm25, merge_bm25, open_bm25
from tests.admiral.kb.bm25.test_rescoring import WORDS

_sentence = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
_long = st.lists(st.sampled_from(WORDS), min_size=30, max_size=90).map(" ".join)
_part = st.lists(st.tuples(_sentence, _sentence | _long), max_size=6)
_weights = st.sampled_from([(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.0, 0.0)])


def merged(backend, folder, parts):
    folders = [folder / str(number) for number in range(len(parts))]
    for part, place in zip(parts, folders, strict=True):
        build_bm25(backend, part, place)
    merge_bm25(backend, folders, folder / "merged")
    return folder / "merged"


def same_as_whole(backend, data, folder):
    parts = data.draw(st.lists(_part, min_size=1, max_size=5).filter(any))
    queries = data.draw(st.lists(_sentence, min_size=1, max_size=3))
    title, text = data.draw(_weights)
    build_bm25(backend, [document for part in parts for document in part], folder / "whole")
    results = []
    for place in (merged(backend, folder, parts), folder / "whole"):
        with open_bm25(backend, place, title_weight=title, text_weight=text) as index:
            results.append(index.search_rows(queries, 20))
    assert results[0] == results[1], "to the last bit, and in the same order"


@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_merged_bm25s_indexes_score_like_one_index(data, tmp_path_factory):
    same_as_whole("bm25s", data, tmp_path_factory.mktemp("parts"))


@settings(max_examples=4)
@given(data=st.data())
def test_merged_lucene_indexes_score_like_one_index(data, tmp_path_factory):
    same_as_whole("lucene", data, tmp_path_factory.mktemp("parts"))


def test_a_merged_index_can_be_merged_and_updated(tmp_path):
    first = merged("bm25s", tmp_path, [[("a", "lamp lamp")], [("b", "harbour lamp")]])
    build_bm25("bm25s", [("c", "lamp")], tmp_path / "more")
    merge_bm25("bm25s", [first, tmp_path / "more"], tmp_path / "all")
    with (
        open_bm25("bm25s", tmp_path / "all") as whole,
        open_bm25("bm25s", first, tmp_path / "more") as separate,
    ):
        assert whole.search_rows(["lamp harbour"], 5) == separate.search_rows(["lamp harbour"], 5)


def test_merging_a_damaged_index_is_an_error(backend, tmp_path):
    build_bm25(backend, [("a", "lamp")], tmp_path / "0")
    (tmp_path / "0" / "bm25.json").unlink()
    with pytest.raises(AdmiralError, match=r"bm25\.json is missing"):
        merge_bm25(backend, [tmp_path / "0"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
