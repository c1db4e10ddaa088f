"""Corpora by URL: the same documents as from the local files, and errors that name the URL."""

import gzip
import json
import zipfile

import fsspec
import pytest

from admiral.errors import AdmiralError
from admiral.io.remote import RemotePath, corpus_path
from admiral.kb import KnowledgeBase, build
from admiral.kb.corpus.corpora import Corpora
from admiral.kb.corpus.readers import detect_format, read_corpus

NAMES = ("a/2.jsonl", "a-b/1.jsonl.gz", "a/.hidden.jsonl", "b.jsonl")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "corpus"
    for number, name in enumerate(NAMES):
        lines = [json.dumps({"title": f"T{number}-{n}", "text": "One. Two."}) for n in range(3)]
        content = "\n".join(lines).encode()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return folder


def urls(folder):
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/corpus", recursive=True)
    archive = folder.with_name("corpus.zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.rglob("*"):
            file.write(path, f"corpus/{path.relative_to(folder)}")
    return [f"file://{folder}", "memory://corpus", f"zip://corpus::{archive}"]


def test_a_folder_by_url_equals_the_local_folder(folder):
    want = [r.document for r in Corpora(folder, "auto", False).records(False)]
    assert [document.title for document in want][::3] == ["T0-0", "T1-0", "T3-0"]
    for url in urls(folder):
        assert isinstance(corpus_path(url), RemotePath)
        assert detect_format(corpus_path(url)) == "jsonl"
        got = [r.document for r in Corpora(url, "auto", False).records(False)]
        assert got == want


def test_a_file_by_url_is_built_into_a_knowledge_base(folder, tmp_path):
    url = f"file://{folder}/b.jsonl"
    build(url, tmp_path / "kb", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert list(kb.titles()) == ["T3-0", "T3-1", "T3-2"]
        assert kb.settings["sources"] == [{"name": "b.jsonl", "format": "jsonl"}]


def test_text_files_by_url_keep_their_names(tmp_path):
    (tmp_path / "Ada_Lovelace.txt").write_text("She wrote.")
    (tmp_path / "notes.md").write_text("# Charles Babbage\n\nHe built.")
    url = f"file://{tmp_path}"
    got = [r.document.title for r in Corpora(url, "auto", False).records(False)]
    assert got == ["Ada Lovelace", "Charles Babbage"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense://x", "nonsense://x: cannot be opened"),
        ("memory://nothing", "memory://nothing: no such file or folder"),
    ],
)
def test_a_bad_url_is_one_error(url, says):
    with pytest.raises(AdmiralError) as caught:
        Corpora(url, "auto", False)
    assert says in str(caught.value)


def test_missing_packages_of_https_are_named(monkeypatch):
    def missing(_):
        raise ImportError('HTTPFileSystem requires "requests" and "aiohttp" to be installed')

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(AdmiralError, match=r"install .* or aiohttp and requests for https"):
        RemotePath("https://example.org/corpus.jsonl")


def test_bad_records_and_damaged_files_name_the_url(folder):
    url = f"file://{folder}/b.jsonl"
    (folder / "b.jsonl").write_text('{"title": "A", "text": "B."}\n{"title": 3}\n')
    with pytest.raises(AdmiralError, match=rf"^{url}:2: field 'title': a number"):
        list(Corpora(url, "jsonl", False).records(False))
    url = f"file://{folder}/a-b/1.jsonl.gz"
    path = folder / "a-b" / "1.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(AdmiralError, match=f"{url}:3: the compressed file is damaged or cut off"):
        list(Corpora(url, "jsonl", False).records(False))


def test_errors_while_reading_name_the_url(tmp_path):
    archive = tmp_path / "corpus.zip"
    lines = "".join(json.dumps({"title": f"T{n}", "text": "One."}) + "\n" for n in range(2000))
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.jsonl", lines)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    url = f"zip://a.jsonl::{archive}"
    with pytest.raises(AdmiralError, match=rf"^{url}: cannot be read \(Bad CRC-32.*Check the URL"):
        list(Corpora(url, "jsonl", False).records(False))


def test_a_remote_database_is_refused():
    with pytest.raises(AdmiralError, match=r"memory://x.db: a remote database cannot be read"):
        list(read_corpus(RemotePath("memory://x.db"), "feverous"))
