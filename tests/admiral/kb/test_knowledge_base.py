import json

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, UnknownTitleError, build, info, verify
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
        lambda: kb.row("Bird"),
        lambda: kb.title(0),
        lambda: kb.document("Bird"),
        lambda: kb.titles(),
        lambda: kb.documents(),
        lambda: kb.complete("B"),
        lambda: kb.rows(),
        lambda: kb.search(["bird"], 1),
        lambda: next(begun),
    ]
    for lookup in lookups:
        with pytest.raises(AdmiralError, match="was closed"):
            lookup()
    assert len(kb) == 3


def test_not_a_knowledge_base(tmp_path, kb_path):
    with pytest.raises(AdmiralError, match="no such knowledge base"):
        KnowledgeBase.open(tmp_path / "none")
    (tmp_path / "folder").mkdir()
    with pytest.raises(AdmiralError, match="not a knowledge base"):
        KnowledgeBase.open(tmp_path / "folder")
    with pytest.raises(AdmiralError, match="is a directory, and this is a file"):
        KnowledgeBase.open(kb_path / "manifest.json")
    (tmp_path / "folder" / "manifest.json").write_text('{"format": "other"}')
    with pytest.raises(AdmiralError, match="field 'format'"):
        KnowledgeBase.open(tmp_path / "folder")


def _edits():
    return {
        "half": lambda text: text[: len(text) // 2],
        "empty": lambda text: b"",
        "count": lambda text: text.replace(b'"documents": 3', b'"documents": 4'),
        "no counts": lambda text: text.replace(b'"counts"', b'"Counts"'),
        "no digest": lambda text: text.replace(b'"digest"', b'"Digest"'),
        "list": lambda text: text.replace(b'"files": {', b'"files": [], "x": {'),
        "outside": lambda text: text.replace(b'"titles.marisa"', b'"../../passwd"'),
    }


@pytest.mark.parametrize("edit", _edits())
def test_a_modified_manifest(edit, kb_path):
    manifest = kb_path / "manifest.json"
    before = manifest.read_bytes()
    manifest.write_bytes(_edits()[edit](before))
    assert manifest.read_bytes() != before
    with pytest.raises(AdmiralError, match=r"manifest\.json: (damaged|changed)"):
        KnowledgeBase.open(kb_path)


def test_truncated_and_missing_files(kb_path):
    files = [p for p in kb_path.rglob("*") if p.is_file() and p.name != "manifest.json"]
    assert len(files) == 12
    for file in files:
        whole = file.read_bytes()
        for changed in (whole[:-1], whole + b"x", b""):
            file.write_bytes(changed)
            with pytest.raises(AdmiralError, match=f"{file}: .*the file was cut off or changed"):
                KnowledgeBase.open(kb_path)
        file.unlink()
        with pytest.raises(AdmiralError, match=f"{file}: missing"):
            KnowledgeBase.open(kb_path)
        file.write_bytes(whole)
    KnowledgeBase.open(kb_path).close()


@pytest.mark.parametrize("name", ["documents/rows.npy", "titles-keys.npy", "bm25/text/*indptr*"])
def test_a_damaged_file_is_named(name, birds, tmp_path):
    build(birds, tmp_path / "kb", bm25="bm25s", progress=False)
    (path,) = (tmp_path / "kb").glob(name)
    path.write_bytes(path.read_bytes().replace(b"'shape': (", b"'shape': [", 1))
    with pytest.raises(AdmiralError, match="damaged"), KnowledgeBase.open(tmp_path / "kb") as kb:
        kb.search(["bird"], 3)


def test_info(kb_path):
    facts = info(kb_path)
    assert facts.counts == {"documents": 3, "sentences": 5, "links": 3}
    assert facts.bm25 == "none"
    assert facts.tries == []
    on_disk = sum(p.stat().st_size for p in kb_path.rglob("*") if p.is_file())
    assert facts.sizes["total"] == on_disk
    assert facts.settings["sources"] == [{"name": "birds.jsonl", "format": "jsonl"}]
    json.dumps(facts.to_json())


@pytest.mark.parametrize("backend", ["bm25s", "lucene"])
def test_search(backend, birds, tmp_path):
    build(birds, tmp_path / "kb", bm25=backend, progress=False)
    assert verify(tmp_path / "kb") == []
    with KnowledgeBase.open(tmp_path / "kb", bm25=backend) as kb:
        seeds, eggs, nothing = kb.search(["seeds", "who lays eggs", "zebra"], 2)
        assert {hit.title for hit in seeds} == {"Great tit", "Seed"}
        assert [hit.title for hit in eggs] == ["Bird"]
        assert nothing == []
        assert seeds[0].score >= seeds[1].score > 0
        build(birds, tmp_path / "kb", bm25="none", overwrite=True, progress=False)
        assert kb.search(["eggs"], 1)[0][0].title == "Bird"  # opened before the replacement


@pytest.mark.parametrize("backend", ["bm25s", "lucene"])
def test_an_index_with_unknown_rows(backend, birds, tmp_path, write_jsonl):
    """The damage is not visible to the checksums of the index itself."""
    build(birds, tmp_path / "kb", bm25=backend, progress=False)
    small = write_jsonl([{"title": "Other", "text": "x"}])
    build(small, tmp_path / "small", bm25=backend, progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb, KnowledgeBase.open(tmp_path / "small") as other:
        kb.search(["seeds"], 1)
        other._index = kb._index
        with pytest.raises(
            AdmiralError, match=r"small: its BM25 index is damaged \(it returns row "
        ):
            other.search(["seeds"], 3)


def test_a_missing_backend_is_an_error_before_reading(birds, tmp_path, monkeypatch):
    def absent():
        raise AdmiralError("no Java")

    monkeypatch.setattr("admiral.kb.bm25.jvm.check_available", absent)
    with pytest.raises(AdmiralError, match="no Java"):
        build(birds, tmp_path / "kb", bm25="lucene", progress=False)
    assert not (tmp_path / "kb").exists()


def test_opening_checks_the_checksums_of_marisa_files(birds, tmp_path):
    build(birds, tmp_path / "kb", bm25="bm25s", progress=False)
    tries = sorted((tmp_path / "kb").rglob("*.marisa"))
    names = ("names", "titles", "titles-forms", "vocabulary", "words")
    assert {path.name for path in tries} == {f"{name}.marisa" for name in names}
    for path in tries:
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(AdmiralError, match=rf"{path.name}: damaged"):
            KnowledgeBase.open(tmp_path / "kb")
        path.write_bytes(whole)
    KnowledgeBase.open(tmp_path / "kb").close()
