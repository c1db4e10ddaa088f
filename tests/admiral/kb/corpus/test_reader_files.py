"""Readers of folders, the FEVEROUS database and documents; detection of formats."""

import bz2
import gzip
import json
import os
import sqlite3
import time
from contextlib import closing

import pytest

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import json_objects
from admiral.kb import build
from admiral.kb.corpus import json_records
from admiral.kb.corpus.formats import (
    FORMATS,
    detect_format,
    read_corpus,
    unknown_format_error,
)
from admiral.kb.corpus.records import Record
from admiral.records import Document


def _documents(items):
    for item in items:
        assert isinstance(item, Record), item
    return [item.document for item in items if isinstance(item, Record)]


def _read(path):
    return list(read_corpus(path, detect_format(path)))


def _database(path, rows):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE wiki (id PRIMARY KEY, data json)")
        database.executemany("INSERT INTO wiki VALUES (?, ?)", rows)
        database.commit()
    return path


def test_feverous(tmp_path):
    page = {
        "title": "x",
        "order": ["sentence_0", "section_1", "sentence_2", "table_0"],
        "sentence_0": "A [[House_cat|cat]] is a [[pet]].",
        "sentence_2": "It [[sleep#REM|sleeps]] [1].",
        "section_1": {"value": "Habits"},
        "table_0": {"table": []},
    }
    rows = [("Cafe\u0301", json.dumps(page)), ("Empty", "")]
    path = _database(tmp_path / "wiki.db", rows)
    assert detect_format(path) == "feverous"
    assert _documents(_read(path)) == [
        Document("Café", ("A cat is a pet.", "It sleeps [1]."), (("House cat", "Pet"), ("Sleep",))),
        Document("Empty", ()),
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["wiki.db"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ((7, "{}"), "id"),
        (("A", "{"), ""),
        (("A", "{}"), "order"),
        (("A", '{"order": ["sentence_0"]}'), "sentence_0"),
        (("", '{"order": []}'), "id"),
        (("A", 3), "data"),
    ],
)
def test_bad_feverous_rows(row, field, tmp_path):
    path = _database(tmp_path / "wiki.db", [("Good", '{"order": []}'), row])
    good, bad = _read(path)
    assert isinstance(good, Record)
    assert isinstance(bad, RecordError)
    assert (bad.where, bad.field) == (f"{path}:2", field)


def test_a_database_without_the_table_or_cut_off(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other (id)")
        database.commit()
    with pytest.raises(AdmiralError, match="table wiki"):
        _read(path)
    rows = [(f"T{n}", '{"order": []}' + " " * 500) for n in range(100)]
    path = _database(tmp_path / "wiki.db", rows)
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(AdmiralError, match=r"wiki\.db: cannot be read as a FEVEROUS database"):
        _read(path)


def test_folder_of_bz2_files(tmp_path):
    for folder in ("AA", "AB"):
        (tmp_path / folder).mkdir()
        line = json.dumps({"title": folder, "text": ["x"], "text_with_links": ["x"]})
        (tmp_path / folder / "wiki_00.bz2").write_bytes(bz2.compress(line.encode()))
    (tmp_path / ".hidden").write_text("not data")
    assert detect_format(tmp_path) == "hotpotqa"
    items = _read(tmp_path)
    assert [d.title for d in _documents(items)] == ["AA", "AB"]
    assert isinstance(items[1], Record)
    assert items[1].where == f"{tmp_path}/AB/wiki_00.bz2:1"


def test_folder_of_fever_pages(tmp_path):
    for number in (2, 1):
        record = {"id": f"Page_{number}", "text": "x", "lines": f"0\tSentence {number}."}
        (tmp_path / f"wiki-00{number}.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "README.md").write_text("about the pages")
    assert _documents(_read(tmp_path)) == [
        Document("Page 1", ("Sentence 1.",)),
        Document("Page 2", ("Sentence 2.",)),
    ]


def test_folder_of_texts(tmp_path):
    (tmp_path / "a_cat.txt").write_bytes(b"\xef\xbb\xbfCats purr.\r\n\r\nThey sleep.")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"Zipped."))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.md").write_text(
        "---\nfront: matter\n---\n# The *dog* #\n\nDogs [bark](x.md).\n## Habits\n"
        "```\n# not a heading\n```\nThey dig."
    )
    (tmp_path / "d.md").write_text("No heading here.")
    assert detect_format(tmp_path) == "files"
    folder = str(tmp_path)
    assert _documents(_read(tmp_path)) == [
        Document("a cat", ("Cats purr.", "They sleep."), (), f"{folder}/a_cat.txt", (), (0, 12)),
        Document("b", ("Zipped.",), (), f"{folder}/b.txt.gz", (), (0,)),
        Document("d", ("No heading here.",), (), f"{folder}/d.md", (), (0,)),
        Document(
            "The dog",
            ("Dogs bark.", "They dig."),
            (),
            f"{folder}/sub/c.md",
            ("", "Habits"),
            (0, 12),
        ),
    ]


def test_documents_beside_data_and_data_beside_documents(tmp_path):
    for name in ("data", "documents"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text("# About\n\nAbout this folder.")
    (tmp_path / "data" / "corpus.jsonl").write_text('{"title": "T", "text": "x"}')
    (tmp_path / "documents" / "package.json").write_text('{"name": "x"}')
    (tmp_path / "documents" / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "documents" / "Makefile").write_bytes(b"all:")
    assert detect_format(tmp_path / "data") == "jsonl"
    assert detect_format(tmp_path / "documents") == "files"
    assert detect_format(tmp_path / "data" / "README.md") == "files"


@pytest.mark.parametrize("format", ["auto", "jsonl"])
def test_a_pipe_is_not_a_corpus(format, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AdmiralError, match=r"pipe: neither a file nor a folder.* to a file first"):
        build(tmp_path / "pipe", tmp_path / "kb", format=format, progress=False)
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"title": "T", "text": "x"}, "jsonl"),
        ({"title": "T", "sentences": []}, "jsonl"),
        ({"id": "T", "text": "", "lines": ""}, "fever"),
        ({"title": "T", "text": ["x"]}, "hotpotqa"),
        ({"title": "T", "text": [["x"], [], ["y"]]}, "hotpotqa"),
        ({"title": "T", "text": [{"heading": "H", "text": "x"}]}, "jsonl"),
        ({"title": "T", "text": {"H": "x"}}, "jsonl"),
        ({"title": "T", "sections": []}, "jsonl"),
        ({"wikipedia_title": "T", "text": ["x"]}, "kilt"),
        ({"_id": "1", "title": "T", "text": "x"}, "beir"),
    ],
)
def test_detection_skips_bad_records(record, name, tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("{broken\n" + json.dumps(record))
    assert detect_format(path) == name


def test_unknown_formats_and_paths(tmp_path):
    with pytest.raises(AdmiralError, match="no such file or folder"):
        detect_format(tmp_path / "none")
    with pytest.raises(AdmiralError, match="holds no data files"):
        detect_format(tmp_path)
    path = tmp_path / "c.jsonl"
    path.write_text('{"name": 1}\n')
    with pytest.raises(AdmiralError, match="--format") as caught:
        detect_format(path)
    assert all(name in str(caught.value) for name in FORMATS)


@pytest.mark.parametrize("title", ["", " \t ", "x" * 2001])
def test_unusable_titles(title, tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"title": title, "text": "x"}))
    (item,) = read_corpus(path, "jsonl")
    assert isinstance(item, RecordError)
    assert item.field == "title"


def test_a_heading_of_many_spaces_takes_linear_time(tmp_path):
    (tmp_path / "a.md").write_text("# Cats\n\nText.\n# a" + " " * 100_000 + "b")
    began = time.process_time()
    (document,) = _documents(_read(tmp_path))
    assert document.title == "Cats"
    assert time.process_time() - began < 5  # quadratic time takes minutes


def _pages(folder, *names):
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"title": name, "text": "x"}))
    return folder


def test_symbolic_links_are_followed_once(tmp_path):
    _pages(tmp_path / "elsewhere", "b.jsonl", ".hidden/c.jsonl")
    corpus = _pages(tmp_path / "corpus", "a.jsonl", "sub/d.jsonl")
    (corpus / "linked").symlink_to(tmp_path / "elsewhere")
    (corpus / "sub" / "up").symlink_to(corpus)
    (tmp_path / "elsewhere" / "round").symlink_to(tmp_path / "elsewhere")
    titles = [document.title for document in _documents(_read(corpus))]
    assert titles == ["a.jsonl", "b.jsonl", "sub/d.jsonl"]


def test_a_corpus_that_would_be_incomplete_is_an_error(tmp_path):
    _pages(tmp_path, "a.jsonl")
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "none.jsonl")
    with pytest.raises(AdmiralError, match=r"b\.jsonl: cannot be read, so the corpus"):
        _read(tmp_path)


PASSAGES = [
    {"title": "Ida Penn", "text": "She drew mills. She was born in 1801.", "idx": 0},
    {"title": "Salt Mill", "text": "It is a mill.", "idx": 1},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_array_of_hipporag(indent, tmp_path):
    path = tmp_path / "2wiki_corpus.json"
    path.write_bytes(b"\xef\xbb\xbf \n" + json.dumps(PASSAGES, indent=indent).encode() + b"\n")
    assert detect_format(path) == "hipporag"
    items = _read(path)
    assert _documents(items) == [
        Document("Ida Penn", ("She drew mills.", "She was born in 1801.")),
        Document("Salt Mill", ("It is a mill.",)),
    ]
    assert [item.line for item in items] == [1, 2]
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert detect_format(packed) == "hipporag"
    assert _documents(_read(packed)) == _documents(items)


def test_bad_records_of_an_array_can_be_skipped(tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps([*PASSAGES, 3, {"title": "A"}, {"text": "b"}], indent=1))
    errors = [item for item in read_corpus(path, "hipporag") if isinstance(item, RecordError)]
    assert [(e.where, e.field) for e in errors] == [
        (f"{path}:3", ""),
        (f"{path}:4", "sentences"),
        (f"{path}:5", "title"),
    ]
    assert "a JSON int instead of an object" in str(errors[0])
    report = build(path, tmp_path / "kb", bm25="none", progress=False, skip_bad=True)
    assert (report.documents, report.bad) == (2, 3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"A": ["b"]}', "it does not begin with"),
        ('[\n{"title": "A", "text": "b"}\n{}]', "line 3"),
        ('[{"title": "A"\n', "line 2"),
        ("[]\n[]", "Extra data: line 2"),
        ("[" * 100_000, "recursion"),
        ("[9" + "9" * 10_000 + "]", "digits"),
        (b'[\n{"title": "\xff"}]', "'utf-8' codec can't decode"),
    ],
)
def test_a_file_that_is_no_array_is_an_error(text, problem, tmp_path):
    path = tmp_path / "c.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(AdmiralError, match=rf"c\.json: not a JSON array .*{problem}") as caught:
        list(read_corpus(path, "hipporag"))
    assert not isinstance(caught.value, RecordError)  # it cannot be skipped


def test_an_array_is_limited(tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    monkeypatch.setattr(json_records, "LARGEST_ARRAY", 2**20)
    path.write_text("[" + " " * 2**20 + "]")
    with pytest.raises(AdmiralError, match=r"larger than 1 MiB. Write it as JSON Lines"):
        list(read_corpus(path, "hipporag"))


def test_passages_with_one_title_are_merged_or_renamed(tmp_path):
    path = tmp_path / "musique_corpus.json"
    path.write_text(json.dumps([*PASSAGES, {"title": "Ida Penn", "text": "She died."}], indent=1))
    with pytest.raises(AdmiralError, match=r"corpus\.json:3: .*document at .*corpus\.json:1"):
        build(path, tmp_path / "kb", bm25="none", progress=False)
    for policy, titles in (("merge", 2), ("rename", 3)):
        report = build(path, tmp_path / policy, bm25="none", progress=False, on_duplicate=policy)
        assert (report.documents, report.duplicates) == (titles, 1)


UNKNOWN = ": its first records match no known format: "


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ": is empty. Give a file with a document on each line."),
        (b"\n \n", ": is empty."),
        (b'{"title": "caf\xe9", "text": "x"}\n', ":1: not UTF-8 (byte 15 is 0xe9). Convert"),
        (b"hello\n", ":1: not a JSON object"),
        (b'\n{"title": "A"}\n', UNKNOWN + "that of line 2 has a title, but neither text nor sen"),
        (b'x\n{"name": "A"}\n', UNKNOWN + "the fields of line 2 are 'name'."),
        (b"{}\n", UNKNOWN + "the fields of line 1 are none."),
    ],
)
def test_the_cause_is_named(tmp_path, content, says):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content)
    error = unknown_format_error(path, json_objects(path), ["jsonl", "beir"])
    assert str(error).startswith(f"{path}{says}")
    assert ("(jsonl, beir)" in str(error)) == (b"{" in content and b"\xe9" not in content)
