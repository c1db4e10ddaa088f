"""A folder of files is brought up to date by the command that indexed it."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, check, remove
from admiral.kb.corpus import corpora

# Files with the same title get parts of their paths added, so titles depend on other files.
_paths = st.sampled_from(["a/readme.md", "b/readme.md", "notes.md", "c/notes.txt", "b/other.md"])
_texts = st.sampled_from(["# Notes\n\nA note.", "# Egg\n\nAn egg.", "# Notes\n\nBirds.", "Plain."])
_folders = st.dictionaries(_paths, _texts, min_size=1)


def write(folder, files):
    """Make the files of a folder these; those that stay the same are not written again."""
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            # Another time, also where the clock of the file system is coarse.
            os.utime(path, ns=(0, hash((name, text)) & 0xFFFFFFFF))


def contents(kb):
    assert check(kb) == []
    with KnowledgeBase.open(kb) as opened:
        hits = opened.search(["notes on birds and eggs"], 99)[0]
        found = {hit.title: round(hit.score, 4) for hit in hits}
        return {d.title: (d, found.get(d.title)) for d in opened.documents()}, opened.counts


def index(folder, kb):
    return build(folder, kb, bm25="bm25s", format="files", progress=False)


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(_folders, min_size=2, max_size=4))
def test_an_updated_folder_equals_a_new_build(versions):
    with TemporaryDirectory() as name:
        folder = Path(name, "files")
        for number, files in enumerate(versions):
            write(folder, files)
            index(folder, Path(name, "kb"))
            index(folder, Path(name, f"fresh{number}"))
            assert contents(Path(name, "kb")) == contents(Path(name, f"fresh{number}"))


def test_unchanged_files_are_not_read_again(tmp_path, monkeypatch, caplog):
    folder, kb = tmp_path / "files", tmp_path / "kb"
    write(folder, {"a.md": "# Egg\n\nAn egg.", "b.md": "# Nest\n\nA nest.", "empty.md": ""})
    index(folder, kb)
    read = []
    reader = corpora.read_file

    def read_file(file, *rest, **options):
        read.append(file.path.name)
        return reader(file, *rest, **options)

    monkeypatch.setattr(corpora, "read_file", read_file)
    report = index(folder, kb)
    assert (read, report.added, report.removed) == ([], 0, 0)
    assert "is up to date" in caplog.text
    write(folder, {"b.md": "# Nest\n\nA new nest.", "c.md": "# Tit\n\nA tit.", "empty.md": ""})
    report = build(folder, kb, bm25="bm25s", format="files", report=tmp_path / "r", progress=False)
    assert (sorted(read), report.added, report.removed) == (["b.md", "c.md"], 2, 2)
    assert "unchanged since it was indexed" in (tmp_path / "r").read_text()
    remove("Tit", kb, progress=False)
    assert index(folder, kb).documents == 1  # what was removed stays so until its file changes


def test_what_is_not_brought_up_to_date(tmp_path, write_jsonl):
    kb = tmp_path / "kb"
    corpus = write_jsonl([{"title": "Egg", "text": "An egg."}])
    build(corpus, kb, bm25="none", progress=False)
    assert build(corpus, kb, bm25="none", progress=False).added == 0
    with pytest.raises(AdmiralError, match=r"was built with other bm25\. Give --overwrite"):
        build(corpus, kb, bm25="bm25s", progress=False)
    other = write_jsonl([{"title": "Tit", "text": "A tit."}], "other.jsonl")
    with pytest.raises(AdmiralError, match="other corpora or options"):
        build(other, kb, bm25="none", progress=False)
    write_jsonl([{"title": "Nest", "text": "A nest."}])
    with pytest.raises(AdmiralError, match=r"has changed since .* Only folders of documents"):
        build(corpus, kb, bm25="none", progress=False)
    assert build(corpus, kb, bm25="bm25s", overwrite=True, progress=False).added == 1
    with KnowledgeBase.open(kb) as opened:
        assert list(opened.titles()) == ["Nest"]
