import bz2
import gzip
import json
import lzma
import zipfile
from contextlib import suppress

import fsspec
import pytest
import zstandard

from admiral.errors import AdmiralError, RecordError
from admiral.io import streams
from admiral.io.streams import RemotePath, corpus_path, json_objects, numbered_lines
from admiral.kb import KnowledgeBase, build
from admiral.kb.corpus.corpora import Corpora
from admiral.kb.corpus.formats import detect_format, read_corpus

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
DATA = b"".join(b'{"n": %d}\n' % n for n in range(3000))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compression_is_detected_by_content_not_by_name(suffix, tmp_path):
    path = tmp_path / "corpus"
    # Two members, as ``cat`` makes them.
    path.write_bytes(COMPRESS[suffix](DATA) + COMPRESS[suffix](DATA))
    values = [item[1]["n"] for item in json_objects(path) if not isinstance(item, RecordError)]
    assert values == [*range(3000), *range(3000)]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("keep", [0.5, 0.98])
def test_cut_off_archives_keep_whole_lines_and_say_so(suffix, keep, tmp_path):
    path = tmp_path / f"corpus{suffix}"
    whole = COMPRESS[suffix](DATA)
    path.write_bytes(whole[: int(len(whole) * keep)])
    if suffix in (".bz2", ".zst"):  # their only block is not whole
        with pytest.raises(AdmiralError, match=f"{path}: the compressed file is damaged or cut"):
            list(numbered_lines(path))
        return
    *before, last = numbered_lines(path)
    assert isinstance(last, RecordError)
    assert len(before) > 1000
    place = f"{path}:{len(before) + 1}"
    assert str(last).startswith(f"{place}: the compressed file is damaged or cut off")
    assert before == list(enumerate(DATA.splitlines(keepends=True), 1))[: len(before)]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_damaged_archives_raise_no_other_error(suffix, tmp_path):
    whole = COMPRESS[suffix](DATA[:4000])
    path = tmp_path / "corpus"
    for position in range(6, len(whole), max(1, len(whole) // 100)):
        flipped = bytearray(whole)
        flipped[position] ^= 0x10
        path.write_bytes(flipped)
        with suppress(AdmiralError):  # a flipped bit may also decompress to the same data
            list(json_objects(path))


def test_bad_lines_name_file_and_line_and_the_rest_is_read(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"a": \n[1]\n{"a": "\xff"}\n{"a": 2}')
    items = list(json_objects(path))
    good = [item for item in items if not isinstance(item, RecordError)]
    bad = [str(item) for item in items if isinstance(item, RecordError)]
    assert good == [(1, {"a": 1}), (6, {"a": 2})]
    assert [text.split(": ")[0] for text in bad] == [f"{path}:{n}" for n in (3, 4, 5)]
    assert "not a JSON object" in bad[0]
    assert "a JSON list instead of an object" in bad[1]
    assert "not UTF-8 (byte 8 is 0xff)" in bad[2]


def test_deep_nesting_and_huge_numbers_are_bad_records(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"a": ' + "[" * 200_000 + "\n" + '{"a": ' + "9" * 5000 + "}\n")
    assert all(isinstance(item, RecordError) for item in json_objects(path))


def test_overlong_lines_are_bad_records(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LONGEST_RECORD", 100)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"x" * 950 + b"\nshort\n" + b"y" * 100 + b"\n" + b"z" * 99 + b"\n")
    items = list(numbered_lines(path))
    assert [i.where if isinstance(i, RecordError) else i[0] for i in items] == [
        f"{path}:1",
        2,
        f"{path}:3",
        4,
    ]


def test_utf16_is_an_error_with_a_remedy(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"title": "x"}\n', encoding="utf-16")
    with pytest.raises(AdmiralError, match="iconv"):
        list(json_objects(path))


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
    with pytest.raises(AdmiralError, match=rf"^{url}:2: field 'title': 3 should be a valid string"):
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
