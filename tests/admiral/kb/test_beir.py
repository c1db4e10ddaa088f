"""Folders of BEIR: ids are kept, also of documents with equal or without titles."""

import json

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, check
from admiral.pipeline import with_origins
from admiral.records import RankedDocument, RetrievalResult

CORPUS = (
    {"_id": "d1", "title": "Mercury", "text": "Mercury is a planet.", "metadata": {}},
    {"_id": "d2", "title": "Mercury", "text": "Mercury is a metal.", "metadata": {}},
    {"_id": "d3", "title": "", "text": "A text without a title."},
)
TITLES = {"d1": "Mercury", "d2": "Mercury (d2)", "d3": "d3"}


@pytest.fixture
def folder(tmp_path):
    """Return a BEIR data set with corpus, queries and qrels."""
    folder = tmp_path / "planets"
    (folder / "qrels").mkdir(parents=True)
    _write(folder / "corpus.jsonl", CORPUS)
    _write(folder / "queries.jsonl", [{"_id": "q1", "text": "Which planet is hot?"}])
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return folder


def _write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _ids(kb):
    with KnowledgeBase.open(kb) as opened:
        assert opened.titles_of_ids() == {d.id: d.title for d in opened.documents() if d.id}
        return {document.id: document.title for document in opened.documents()}


def test_a_folder_is_indexed_with_its_ids(folder, tmp_path):
    report = build(folder, tmp_path / "kb", bm25="none", progress=False)
    assert (report.documents, report.duplicates, report.bad) == (3, 1, 0)
    assert _ids(tmp_path / "kb") == TITLES
    assert check(tmp_path / "kb") == []


def test_ids_survive_additions(folder, tmp_path):
    kb = tmp_path / "kb"
    build(folder, kb, bm25="none", progress=False)
    add(_write(tmp_path / "more.jsonl", [{"_id": "d4", "title": "T", "text": "x"}]), kb)
    add(_write(tmp_path / "own.jsonl", [{"title": "Own", "text": "x"}]), kb)
    assert _ids(kb) == {**TITLES, "d4": "T", "": "Own"}


def test_additions_are_told_apart_by_their_ids(folder, tmp_path):
    kb = tmp_path / "kb"
    build(folder, kb, bm25="none", progress=False)
    more = [
        {"_id": "d2", "title": "Hg", "text": "Mercury is a liquid metal."},
        {"_id": "d4", "title": "Mercury", "text": "Mercury is a god."},
        {"_id": "d5", "title": "Mercury", "text": "Mercury is a singer."},
        {"_id": "d5", "title": "Freddie", "text": "Mercury is a singer of Queen."},
    ]
    path = _write(tmp_path / "more.jsonl", more)
    with pytest.raises(AdmiralError, match=r"more.jsonl:1: .*'d2' is in the knowledge"):
        add(path, kb, progress=False)
    report = add(path, kb, on_duplicate="replace", progress=False)
    assert (report.added, report.replaced, report.skipped) == (2, 1, 1)
    titles = {**TITLES, "d2": "Hg", "d4": "Mercury (d4)", "d5": "Freddie"}
    assert _ids(kb) == titles
    with KnowledgeBase.open(kb) as opened:
        assert opened.document("Hg").sentences == ("Mercury is a liquid metal.",)
        assert opened.document("Freddie").sentences == ("Mercury is a singer of Queen.",)
    assert add(path, kb, on_duplicate="skip", progress=False).skipped == 4
    assert _ids(kb) == titles


@pytest.mark.parametrize("policy", ["merge", "skip"])
def test_of_equal_titles_the_first_id_is_kept(policy, folder, tmp_path):
    build(folder, tmp_path / "kb", bm25="none", on_duplicate=policy, progress=False)
    assert _ids(tmp_path / "kb") == {"d1": "Mercury", "d3": "d3"}


def test_an_id_occurs_once(folder, tmp_path):
    path = folder / "corpus.jsonl"
    _write(path, [*CORPUS, {"_id": "d3", "title": "Other", "text": "x"}])
    with pytest.raises(AdmiralError, match=r"corpus.jsonl:4: field '_id': 'd3' is the id of an"):
        build(folder, tmp_path / "kb", bm25="none", progress=False)
    assert not (tmp_path / "kb").exists()


def test_results_name_the_ids(folder, tmp_path):
    build(folder, tmp_path / "kb", bm25="none", progress=False)
    ranked = tuple(RankedDocument(title, 1.0, 0) for title in TITLES.values())
    plain = RetrievalResult("q1", "A claim.", ranked, (), (), "max_hops")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        record = with_origins(plain, kb).to_json()
    assert {d["id"]: d["title"] for d in record["documents"]} == TITLES
    assert not any("source" in document for document in record["documents"])
    assert not any("id" in document for document in plain.to_json()["documents"])
