"""The report of a build says of every file what became of it, and agrees with what is stored."""

import gzip
import json

import pytest
from click.testing import CliRunner

from admiral.cli.index import add_command, index_command
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, info
from tests.admiral.kb.corpus.files.test_pdf_files import pdf, shown
from tests.admiral.kb.corpus.files.test_word_files import word

PAGE = (
    "<h1>Lamps</h1><p>Lamps glow. They are old.<p hidden>Secret.<p>Oil <del>whale</del> burns."
    "<nav>Home</nav><pre><code>x = 1;</code></pre><div style='display:none'>Gone.</div>"
)
FILES = {
    "a/lamps.html": PAGE.encode(),
    "b/lamps.html": PAGE.encode(),
    "cafe.txt": "The café is old. It serves tea.".encode("cp1252"),
    "cut.md.gz": gzip.compress(b"Some text. " * 99, mtime=0)[:-9],
    "empty.md": b"",
    "photo.png": b"x",
    "report.docx": word(
        "<w:p><w:r><w:t>The dam is safe.</w:t></w:r><w:del><w:r><w:delText>No.</w:delText></w:r>"
        "</w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>Draft.</w:t></w:r></w:p>"
    ),
    "~$report.docx": b"\5Ida Penn",
    "scan.pdf": pdf(shown("The mill stands by the river."), ""),
}


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    return tmp_path / "in"


def lines(path):
    """Return the lines of a report by path; each file has one."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    by_path = {record["path"]: record for record in records}
    assert len(by_path) == len(records)
    return by_path


def run(command, *arguments):
    return CliRunner().invoke(command, [*map(str, arguments), "--no-progress"])


def test_every_file_of_a_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(index_command, "in", "--kb", "kb", "--bm25", "none", "--report", "report.jsonl")
    assert done.exit_code == 0, done.output
    report = lines(tmp_path / "report.jsonl")
    assert sorted(report) == sorted(f"in/{name}" for name in FILES)
    assert report["in/a/lamps.html"] == {
        "path": "in/a/lamps.html",
        "reader": "HTML",
        "documents": 1,
        "titles": ["Lamps (a)"],
        "sentences": 3,
        "skipped": None,
        "left_out": {"hidden text": 2, "deleted text": 1, "navigation": 1, "code": 1},
        "split_sentences": 0,
        "notes": [],
        "errors": [],
    }
    assert report["in/cafe.txt"]["notes"] == [
        "read as windows-1252, a guess, since nothing names its encoding"
    ]
    assert report["in/report.docx"]["left_out"] == {"deleted text": 1, "hidden text": 1}
    (note,) = report["in/scan.pdf"]["notes"]
    assert note == "1 of 2 pages have no text, as scanned ones have none: 2"
    reasons = {path: record["skipped"] for path, record in report.items() if record["skipped"]}
    assert reasons == {
        "in/cut.md.gz": "damaged, or not what their names say",
        "in/empty.md": "without text",
        "in/photo.png": "not of a known type",
        "in/~$report.docx": "lock files of open documents",
    }
    assert report["in/photo.png"]["reader"] is None
    assert "damaged or cut off" in report["in/cut.md.gz"]["errors"][0]
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        stored = {document.title: len(document.sentences) for document in kb.documents()}
    reported = {title: r["sentences"] for r in report.values() for title in r["titles"]}
    assert stored == reported


def test_duplicates_and_bad_records_are_counted(folder, tmp_path):
    records = tmp_path / "records.jsonl"
    records.write_text(
        "".join(f'{{"title": "T{n % 40}", "text": "One lamp. Two lamps."}}\n' for n in range(90))
    )
    with records.open("a") as file:
        file.write("{}\n" * 3)
    build(
        [folder, records],
        tmp_path / "kb",
        bm25="none",
        on_duplicate="skip",
        skip_bad=True,
        progress=False,
        report=tmp_path / "report.jsonl",
    )
    found = lines(tmp_path / "report.jsonl")[str(records)]
    assert (found["reader"], found["documents"], found["sentences"]) == ("jsonl", 40, 80)
    assert found["left_out"] == {"duplicates of another document": 50, "bad records": 3}
    assert found["errors"][0].startswith(f"{records}:91: field 'title': is missing")


def test_updates(folder, tmp_path):
    kb, report = tmp_path / "kb", tmp_path / "report.jsonl"
    build(folder, kb, bm25="none", progress=False)
    (folder / "a" / "lamps.html").write_text("<h1>New lamps</h1><p>They are white.")
    (folder / "c").mkdir()
    (folder / "c" / "lamps.html").write_text("<h1>Lamps</h1><p>Others are red. And blue.")
    paths = [folder, folder / "cafe.txt"]
    done = run(add_command, *paths, "--kb", kb, "--on-duplicate", "replace", "--report", report)
    assert done.exit_code == 0, done.output
    found = lines(report)
    assert len(found) == len(FILES) + 1
    assert found[str(folder / "a" / "lamps.html")]["titles"] == ["New lamps"]
    assert found[str(folder / "cafe.txt")]["documents"] == 1
    assert found[str(folder / "cafe.txt")]["left_out"] == {"the file was given twice": 1}
    with KnowledgeBase.open(kb) as opened:
        for record in found.values():
            for title in record["titles"]:
                assert opened.row(title) is not None
        (title,) = found[str(folder / "c" / "lamps.html")]["titles"]
        assert opened.document(title).sentences == ("Others are red.", "And blue.")
    done = run(add_command, *paths, "--kb", kb, "--on-duplicate", "skip", "--report", report)
    assert done.exit_code == 0, done.output
    assert sum(record["documents"] for record in lines(report).values()) == 0


@pytest.mark.parametrize("place", ["none/r.jsonl", "in", "kb/r.jsonl", "in/empty.md"])
def test_a_path_that_cannot_be_written(folder, tmp_path, place):
    report, kb = tmp_path / place, tmp_path / "kb"
    build(folder, kb, bm25="none", progress=False)
    before = info(kb).settings["digest"]
    arguments = [folder / "empty.md", folder, "--kb", kb, "--report", report]
    for command, options in ((index_command, ["--overwrite"]), (add_command, [])):
        done = run(command, *arguments, *options)
        assert isinstance(done.exception, AdmiralError)
        assert str(done.exception).startswith(f"{report}: ")
    assert info(kb).settings["digest"] == before
    assert not (tmp_path / "none").exists()
    assert (folder / "empty.md").read_bytes() == b""


def test_a_corpus_that_is_cut_off_keeps_its_whole_records(tmp_path):
    corpus = tmp_path / "corpus.jsonl.gz"
    plain = "".join(
        f'{{"title": "T{n}", "text": "Number {n * n} is a square."}}\n' for n in range(999)
    )
    packed = gzip.compress(plain.encode())
    corpus.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(
        AdmiralError, match=r"corpus\.jsonl\.gz:\d+: the compressed file is damaged"
    ):
        build(corpus, tmp_path / "kb", bm25="none", progress=False)
    report = build(
        corpus,
        tmp_path / "kb",
        bm25="none",
        progress=False,
        skip_bad=True,
        report=tmp_path / "r.jsonl",
    )
    assert 100 < report.documents < 999
    assert report.bad == 1
    (found,) = lines(tmp_path / "r.jsonl").values()
    assert found["errors"][0].startswith(f"{corpus}:{report.documents + 1}: the compressed file")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        for number, document in enumerate(kb.documents()):
            assert document.sentences == (f"Number {number * number} is a square.",)


def test_a_file_of_records_that_cannot_be_read_among_others(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"title": "A", "text": "One."}\n')
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    report = build(tmp_path / "in", tmp_path / "kb", bm25="none", progress=False, skip_bad=True)
    assert report.documents == 1
    assert report.skipped == {"cannot be read": 1}
    with pytest.raises(AdmiralError, match=r"b\.jsonl\.gz: .*cut off"):
        build(tmp_path / "in", tmp_path / "kb2", bm25="none", progress=False)
