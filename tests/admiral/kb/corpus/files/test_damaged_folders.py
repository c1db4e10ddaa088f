"""Every kind of bad file among good ones: no run ends, and no other document is lost."""

import json
import os
from pathlib import Path

from click.testing import CliRunner
from pypdf import PdfReader, PdfWriter

from admiral.cli.index import index_command
from admiral.kb import KnowledgeBase
from admiral.kb.corpus import document_files
from tests.admiral.kb.corpus.files.test_bad_files import TEXT, whole_files
from tests.admiral.kb.corpus.files.test_pdf_files import pdf, shown


def test_every_kind_of_bad_file_at_the_command_line(tmp_path, monkeypatch, caplog):
    files, top = whole_files(), tmp_path / "in"
    top.mkdir()
    locked = PdfWriter(PdfReader(_stream(tmp_path, pdf(shown(TEXT)))))
    locked.encrypt("secret", algorithm="RC4-128")
    locked.write(top / "locked.pdf")
    (top / "report.docx").write_bytes(files["a.docx"])
    (top / "~$report.docx").write_bytes(b"\x03Ida")
    (top / "empty.txt").write_bytes(b"")
    (top / "cafe.txt").write_bytes("The café is old.".encode("cp1252"))
    (top / "cut.txt.gz").write_bytes(files["b.txt.gz"][:-9])
    (top / "crawl.warc.gz").write_bytes(b"\x1f\x8b\x08")
    (top / "page.pdf").write_bytes(b"<html>Not found</html>")
    (top / "folder.md").mkdir()
    (top / "folder.md" / "inner.md").write_text(TEXT)
    (top / "folder.md" / "up").symlink_to(top)
    (top / "self").symlink_to(top / "self")
    (top / "gone.md").symlink_to(top / "none.md")
    os.mkfifo(top / "pipe.txt")
    os.mkfifo(top / "a-pipe")  # its name might be that of a corpus
    (top / "vanishes.md").write_text(TEXT)
    unreadable = top / "unreadable.md"
    if os.geteuid():
        unreadable.write_text(TEXT)
        unreadable.chmod(0)
    read = document_files.open_binary

    def open_binary(file):
        (top / "vanishes.md").unlink(missing_ok=True)
        return read(file)

    monkeypatch.setattr(document_files, "open_binary", open_binary)
    arguments = [str(top), "--kb", str(tmp_path / "kb"), "--bm25", "none", "--no-progress"]
    done = CliRunner().invoke(index_command, [*arguments, "--report", str(tmp_path / "r.jsonl")])
    assert done.exit_code == 0, done.output
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert sorted(kb.titles()) == ["cafe", "inner", "report"]
    lines = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    skipped = {Path(line["path"]).name: line["skipped"] for line in lines if line["skipped"]}
    damage = "damaged, or not what their names say"
    expected = {
        "locked.pdf": "encrypted",
        "~$report.docx": "lock files of open documents",
        "empty.txt": "without text",
        "cut.txt.gz": damage,
        "page.pdf": damage,
        "vanishes.md": damage,
        "crawl.warc.gz": "not of a known type",
        "self": "cannot be read (broken links, permissions)",
        "gone.md": "cannot be read (broken links, permissions)",
        "pipe.txt": "no regular file",
        "a-pipe": "no regular file",
    }
    if os.geteuid():
        expected["unreadable.md"] = damage
    assert skipped == expected
    assert caplog.messages[-1].startswith(f"{len(expected)} files were skipped: ")
    done = CliRunner().invoke(index_command, [*arguments, "--overwrite", "--strict"])
    assert done.exit_code == 1
    assert "cut.txt.gz" in str(done.exception)


def _stream(folder, data):
    (folder / "plain.pdf").write_bytes(data)
    return folder / "plain.pdf"
