import json
from dataclasses import asdict

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, UnknownTitleError, build, check, info
from admiral.records import Document


@pytest.fixture
def kb_path(birds, tmp_path):
    build(birds, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


@pytest.fixture
def kb(kb_path):
    with KnowledgeBase.open(kb_path) as kb:
        yield kb


def test_lookups(kb, kb_path):
    assert kb.path == kb_path
    assert len(kb) == 3 == kb.counts["documents"]
    assert list(kb.titles()) == ["Great tit", "Bird", "Seed"]
    assert [kb.title(row) for row in range(3)] == list(kb.titles())
    assert [kb.row(t) for t in ("Seed", " Bird\n", "bird", "")] == [2, 1, None, None]
    assert kb.document("Bird") == kb.document_at(1)
    assert kb.document("Seed") == Document("Seed", ())


def test_unknown_titles_and_rows(kb):
    with pytest.raises(UnknownTitleError, match=r"no document has the title 'Emu'\. Titles") as e:
        kb.document("Emu")
    assert isinstance(e.value, KeyError)
    assert not str(e.value).startswith("'")
    for row in (-1, 3):
        with pytest.raises(IndexError):
            kb.title(row)
        with pytest.raises(IndexError):
            kb.document_at(row)


def test_a_closed_knowledge_base(kb_path):
    kb = KnowledgeBase.open(kb_path)
    begun = kb.documents()
    kb.close()
    kb.close()
    lookups = [
        lambda: kb.title(0),
        lambda: kb.document("Bird"),
        lambda: kb.titles(),
        lambda: kb.rows(),
        lambda: kb.search(["bird"], 1),
        lambda: next(begun),
    ]
    for lookup in lookups:
        with pytest.raises(AdmiralError, match="was closed"):
            lookup()
    assert len(kb) == 3


def test_paths_without_a_knowledge_base(tmp_path, kb_path):
    with pytest.raises(AdmiralError, match="no such knowledge base"):
        KnowledgeBase.open(tmp_path / "none")
    (tmp_path / "folder").mkdir()
    with pytest.raises(AdmiralError, match="not a knowledge base"):
        KnowledgeBase.open(tmp_path / "folder")
    with pytest.raises(AdmiralError, match="is a directory, and this is a file"):
        KnowledgeBase.open(kb_path / "kb.sqlite")


def test_info(kb_path):
    facts = info(kb_path)
    assert facts.counts == {"documents": 3, "sentences": 5, "links": 3}
    assert facts.bm25 == "none"
    assert facts.tries == []
    on_disk = sum(p.stat().st_size for p in kb_path.rglob("*") if p.is_file())
    assert facts.sizes["total"] == on_disk
    assert facts.settings["sources"] == [{"name": "birds.jsonl", "format": "jsonl"}]
    json.dumps(asdict(facts))


@pytest.mark.parametrize("backend", ["bm25s", "lucene"])
def test_search(backend, birds, tmp_path):
    build(birds, tmp_path / "kb", bm25=backend, progress=False)
    assert check(tmp_path / "kb") == []
    with KnowledgeBase.open(tmp_path / "kb", bm25=backend) as kb:
        seeds, eggs, nothing = kb.search(["seeds", "who lays eggs", "zebra"], 2)
        assert {hit.title for hit in seeds} == {"Great tit", "Seed"}
        assert [hit.title for hit in eggs] == ["Bird"]
        assert nothing == []
        assert seeds[0].score >= seeds[1].score > 0
        build(birds, tmp_path / "kb", bm25="none", overwrite=True, progress=False)
        assert kb.search(["eggs"], 1)[0][0].title == "Bird"  # opened before the replacement


def test_a_missing_backend_is_an_error_before_reading(birds, tmp_path, monkeypatch):
    def absent():
        raise AdmiralError("no Java")

    monkeypatch.setattr("admiral.kb.bm25.jvm.check_available", absent)
    with pytest.raises(AdmiralError, match="no Java"):
        build(birds, tmp_path / "kb", bm25="lucene", progress=False)
    assert not (tmp_path / "kb").exists()
