"""A folder of mixed files becomes a knowledge base whose answers lead back to the files."""

import json
import logging

import openpyxl
import pytest
from click.testing import CliRunner

from admiral.cli.index import index_command
from admiral.cli.search import search_command, show_command
from admiral.errors import AdmiralError, RecordError
from admiral.io.rendering import render_result
from admiral.kb import KnowledgeBase, add, build, check
from admiral.kb.corpus.document_files import DAMAGED, LOCKED
from admiral.kb.corpus.formats import detect_format
from admiral.pipeline import with_origins
from admiral.records import Hop, RankedDocument, RetrievalResult, Sentence
from tests.admiral.kb.corpus.files.test_bad_files import whole_files


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "flask/README.md": "Flask is a web framework. It was written by Armin Ronacher.",
        "requests/README.rst": "Usage\n=====\n\nRequests is an HTTP library.\n",
        "en/mount.txt": "Mounting\n========\n\nmount attaches a file system.\n",
        "de/mount.txt": "Mounting\n========\n\nmount hängt ein Dateisystem ein.\n",
        "page.html": "<title>Lamps</title><h1>About lamps</h1><p>Lamps shine.",
        "empty.md": "",
        "photo.png": "x",
    }.items():
        (tmp_path / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / name).write_text(text)
    return tmp_path / "top"


TITLES = [
    "Mounting (de)", "Mounting (en)", "flask/README", "About lamps", "requests/README",
]  # fmt: skip


def test_a_folder_without_an_option(folder, tmp_path, caplog):
    arguments = [str(folder), "--kb", str(tmp_path / "kb"), "--bm25", "bm25s"]
    with caplog.at_level(logging.WARNING):
        result = CliRunner().invoke(index_command, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1] == "duplicate titles (told apart by their paths): 4"
    assert caplog.messages == ["2 files were skipped: 1 not of a known type (.png); 1 without text"]
    assert check(tmp_path / "kb") == []
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert list(kb.titles()) == TITLES
        assert kb.settings["sources"] == [{"name": "top", "format": "files"}]
        document = kb.document("requests/README")
        assert document.source == str(folder / "requests" / "README.rst")
        assert document.sections == ("Usage",)
        # Headings are found, although they are no sentences.
        assert kb.search(["usage"], 1)[0][0].title == "requests/README"


def test_other_policies_and_the_same_file_twice(folder, tmp_path):
    with pytest.raises(RecordError, match="'Mounting' is taken by the document at"):
        build(folder, tmp_path / "kb", bm25="none", on_duplicate="error", progress=False)
    merged = build(folder, tmp_path / "kb", bm25="none", on_duplicate="merge", progress=False)
    assert (merged.documents, merged.duplicates) == (3, 2)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.document("README").sections == ("", "", "Usage")
        assert kb.document("README").offsets == ()
    twice = [folder, folder / "page.html"]
    report = build(twice, tmp_path / "twice", bm25="none", progress=False)
    assert report.documents == 5
    records = tmp_path / "records.jsonl"
    records.write_text(json.dumps({"title": "About lamps", "text": "A record."}) + "\n")
    build([records, folder / "page.html"], tmp_path / "mixed", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "mixed") as kb:
        assert list(kb.titles()) == ["About lamps", "About lamps (page.html)"]


def test_damaged_files_are_reported_and_the_others_read(folder, tmp_path, caplog):
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "broken.docx").write_bytes(b"PK\x03\x04")
    (folder / "broken.ipynb").write_text("{")
    (folder / "cut.md.gz").write_bytes(b"\x1f\x8b\x08")
    (folder / "~$open.docx").write_bytes(b"\5Ida Penn")
    with pytest.raises(RecordError, match=r"broken.docx:1: cannot be read as DOCX .*--exclude"):
        build(folder, tmp_path / "kb", bm25="none", progress=False, strict=True)
    assert not (tmp_path / "kb").exists()
    with caplog.at_level(logging.WARNING):
        report = build(folder, tmp_path / "kb", bm25="none", progress=False)
    assert (report.documents, report.bad) == (5, 0)
    assert report.skipped[DAMAGED] == 4
    assert report.skipped[LOCKED] == 1
    assert sum("broken.pdf:1: cannot be read as PDF" in line for line in caplog.messages) == 1
    assert f"4 {DAMAGED}" in caplog.messages[-1]
    kb = tmp_path / "kb"
    with pytest.raises(RecordError, match=r"broken\.docx"):
        add(folder, kb, on_duplicate="skip", progress=False, strict=True)


def test_a_folder_of_damaged_files_alone_makes_no_knowledge_base(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pdf").write_bytes(b"<html>not found</html>")
    with pytest.raises(AdmiralError, match="no documents in it"):
        build(tmp_path / "in", tmp_path / "kb", bm25="none", progress=False)


def test_patterns_reach_the_walk(folder, tmp_path):
    report = build(
        folder, tmp_path / "kb", bm25="none", progress=False, include=["*.txt"], exclude=["de/"]
    )
    assert report.documents == 1
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert list(kb.titles()) == ["Mounting"]


def test_files_are_added_and_replaced(folder, tmp_path):
    kb_path = tmp_path / "kb"
    build(folder, kb_path, bm25="none", progress=False, include=["flask/", "page.html"])
    add(folder / "requests", kb_path, progress=False)
    with KnowledgeBase.open(kb_path) as kb:
        assert list(kb.titles()) == ["README", "About lamps", "requests/README"]
    page = folder / "page.html"
    with pytest.raises(RecordError, match="'About lamps' is in the knowledge base already"):
        add(page, kb_path, progress=False)
    page.write_text("<h1>Another heading</h1><p>Lamps glow.")
    report = add([page, page], kb_path, on_duplicate="replace", progress=False)
    assert (report.added, report.replaced) == (0, 1)
    with KnowledgeBase.open(kb_path) as kb:
        assert sorted(kb.titles()) == ["Another heading", "README", "requests/README"]
        assert kb.document("Another heading").sentences == ("Lamps glow.",)
        assert kb.document("Another heading").source == str(page)
    records = tmp_path / "records.jsonl"
    records.write_text(json.dumps({"title": "Mounting", "text": "A record."}) + "\n")
    add([records, folder / "en"], kb_path, progress=False)
    with KnowledgeBase.open(kb_path) as kb:
        assert kb.row("Mounting (mount.txt)") is not None
    assert check(kb_path) == []


def test_results_name_files_and_sections(folder, tmp_path):
    build(folder, tmp_path / "kb", bm25="none", progress=False)
    title, text = "requests/README", "Requests is an HTTP library."
    evidence = (Sentence(title, 0, text),)
    hop = Hop(False, None, number=1, evidence=evidence)
    document = RankedDocument(title, 1.0, 1)
    plain = RetrievalResult("1", "A claim.", (document,), evidence, (hop,), "max_hops")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        result = with_origins(plain, kb)
    record, source = result.to_json(), str(folder / "requests" / "README.rst")
    assert record["documents"][0]["source"] == source
    place = {key: record["evidence"][0][key] for key in ("source", "section", "offset")}
    assert place == {"source": source, "section": "Usage", "offset": 0}
    shown = render_result(result, width=300)
    assert f"[{title}, Usage] {text}" in shown
    assert f"\n    {source}\n" in shown
    assert "source" not in str(plain.to_json())
    records = tmp_path / "records.jsonl"
    records.write_text(json.dumps({"title": title, "text": text}) + "\n")
    build(records, tmp_path / "plain", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "plain") as kb:
        assert with_origins(plain, kb) == plain


def test_files_alone_and_of_unknown_types(folder, tmp_path):
    assert detect_format(folder / "page.html") == "files"
    with pytest.raises(AdmiralError, match="the type of the file is not known"):
        build(folder / "photo.png", tmp_path / "kb", format="files", progress=False)


@pytest.fixture
def office(tmp_path):
    """Return a folder with a file of each format of office programs, beside bad ones."""
    folder = tmp_path / "office"
    folder.mkdir()
    good = whole_files()
    for name in ("a.docx", "a.pptx", "a.odt", "a.rtf", "a.eml", "a.tsv", "a.pdf"):
        (folder / name).write_bytes(good[name])
    (folder / "lamps.csv").write_text(
        "Lamp;Height;Keeper\nEddystone;41 m;Ida Penn\nBell;35 m;Bob\n"
    )
    for year, litres in ((2023, 1200), (2024, 1350)):
        book = openpyxl.Workbook()
        book.active.title = "Fuel"
        book.active.append(["Lamp", "Litres of oil"])
        book.active.append(["Eddystone", litres])
        book.create_sheet().append(["Counted by Ida Penn."])
        book.save(folder / f"use-{year}.xlsx")
    (folder / "cut.xlsx").write_bytes(good["a.xlsx"][:500])
    (folder / "renamed.pptx").write_bytes(good["a.pdf"])
    (folder / "empty.csv").write_bytes(b"")
    (folder / "locked.xlsx").write_bytes(
        bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le")
    )
    (folder / "old.xls").write_bytes(b"\xd0\xcf")
    return folder


def test_files_of_office_programs(office, tmp_path, caplog):
    assert detect_format(office) == "files"
    arguments = [str(office), "--kb", str(tmp_path / "kb"), "--bm25", "bm25s"]
    with caplog.at_level(logging.WARNING):
        result = CliRunner().invoke(index_command, arguments)
    assert result.exit_code == 0, result.output
    summary = caplog.messages[-1]
    assert summary.startswith("6 files were skipped: ")  # the PDF file is of an empty page
    for part in ("2 without text", "2 damaged", "1 encrypted", "1 not of a known type (.xls)"):
        assert part in summary
    for name in ("cut.xlsx", "renamed.pptx"):
        assert any(name in line for line in caplog.messages)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        titles = set(kb.titles())
        assert {"lamps", "Fuel (use-2023)", "Fuel (use-2024)", "use-2024: Sheet"} <= titles
        fuel = kb.document("Fuel (use-2024)")
        assert fuel.sentences == ("Lamp: Eddystone; Litres of oil: 1350.",)
        assert fuel.sections == ("sheet Fuel",)
        assert fuel.source == str(office / "use-2024.xlsx") + "#Fuel"
    shown = CliRunner().invoke(show_command, ["lamps", "--kb", str(tmp_path / "kb")])
    assert "Lamp: Eddystone; Height: 41 m; Keeper: Ida Penn." in shown.output
    found = CliRunner().invoke(
        search_command, ["Eddystone oil 1350", "--kb", str(tmp_path / "kb"), "-k", "1", "--json"]
    )
    assert json.loads(found.stdout)["title"] == "Fuel (use-2024)"
    add(office / "use-2024.xlsx", tmp_path / "kb", on_duplicate="replace", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert set(kb.titles()) == titles
    assert check(tmp_path / "kb") == []


@pytest.mark.slow
def test_retrieve_from_a_folder(folder, tmp_path):
    from admiral.cli.retrieve import retrieve_command

    build(folder, tmp_path / "kb", bm25="bm25s", progress=False)
    claim = "Flask was written by Armin Ronacher."
    arguments = ["--kb", str(tmp_path / "kb"), "--hops", "1", "--json", claim]
    result = CliRunner().invoke(retrieve_command, arguments)
    assert result.exit_code == 0, result.output
    best = json.loads(result.stdout)["evidence"][0]
    assert best["source"] == str(folder / "flask" / "README.md")
    assert best["text"] == "It was written by Armin Ronacher."
