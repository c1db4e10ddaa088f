"""A damaged file ends no run, loses no other file, and leaves nothing of itself."""

import gzip
import io
import json
import os
import tempfile
import zipfile
from email.message import EmailMessage
from functools import cache
from pathlib import Path

import docx
import odfdo
import openpyxl
import pptx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from admiral.kb import build
from admiral.kb.corpus.document_files import DAMAGED
from admiral.kb.corpus.formats import new_report, read_file
from admiral.kb.corpus.records import Record

TEXT = "The lamp turns at dusk. Its tower is white."


@cache
def whole_files():
    """Return a small good file of each format, by name."""
    word, book, page = io.BytesIO(), io.BytesIO(), io.BytesIO()
    document = docx.Document()
    document.add_paragraph(TEXT)
    document.save(word)
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("META-INF/container.xml", '<c><rootfile full-path="p.opf"/></c>')
        archive.writestr(
            "p.opf",
            '<p><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
            '<itemref idref="a"/></p>',
        )
        archive.writestr("a.xhtml", f"<html xmlns='x'><title/><p>{TEXT}</p></html>")
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(page)
    workbook, slides, sheets, text = (io.BytesIO() for _ in range(4))
    book_of_sheets = openpyxl.Workbook()
    for sheet in (book_of_sheets.active, book_of_sheets.create_sheet()):
        sheet.append(["Lamp", "Height"])
        sheet.append([TEXT, 41.5])
        sheet.merge_cells("A2:A3")
    book_of_sheets.save(workbook)
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = TEXT
    presentation.save(slides)
    odfdo.Document("spreadsheet").save(sheets)
    written = odfdo.Document("text")
    written.body.append(odfdo.Paragraph(TEXT))
    written.save(text)
    mail = EmailMessage()
    mail["Subject"] = "Lamps"
    mail.set_content(TEXT)
    mail.add_alternative(f"<p>{TEXT}</p>", subtype="html")
    mail.add_attachment(f"Lamp,Text\n1,{TEXT}\n", subtype="csv", filename="lamps.csv")
    cells = [{"cell_type": "markdown", "source": TEXT}]
    table = f"<table><tr><th rowspan=2>Lamp<th>Oil<tr><td>{TEXT}</table><p>10<sup>3</sup>"
    return {
        "a.docx": word.getvalue(),
        "a.epub": book.getvalue(),
        "a.pdf": page.getvalue(),
        "a.xlsx": workbook.getvalue(),
        "a.pptx": slides.getvalue(),
        "a.ods": sheets.getvalue(),
        "a.odt": text.getvalue(),
        "a.rtf": (r"{\rtf1{\stylesheet{\s1 heading 1;}}\pard\s1 Lamps\par\pard " + TEXT).encode(),
        "a.eml": mail.as_bytes(),
        "a.csv": f'Lamp;"Text"\n1;"{TEXT}"\n'.encode("utf-16"),
        "a.tsv": f"Lamp\tText\n1\t{TEXT}\n".encode(),
        "a.ipynb": json.dumps({"metadata": {}, "cells": cells}).encode(),
        "a.html": table.encode("utf-16"),
        "a.xhtml": f'<?xml version="1.0" encoding="gbk"?><html><p>{TEXT}<a/></p></html>'.encode(),
        "a.md": f"---\ntitle: x\n---\n# Lamps {{#a}}\n{TEXT}[^1]\n\n!!! n\n    $x$".encode(),
        "a.rst": f"Lamps\n=====\n\n{TEXT}\n".encode(),
        "a.txt": TEXT.encode("utf-16-le"),
        "b.txt.gz": gzip.compress(TEXT.encode(), mtime=0),
    }


@st.composite
def damaged_files(draw):
    """Draw a file cut off, with other bytes in it, with another file's content, or of nothing."""
    files = whole_files()
    name = draw(st.sampled_from(sorted(files)))
    data = files[draw(st.sampled_from([name, *sorted(files)]))]
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(data)))
        end = place + draw(st.integers(0, 8))
        data = data[:place] + draw(st.binary(max_size=8)) + data[end:]
    return name, data


@given(damaged_files())
def test_every_file_yields_a_document_or_a_reason(file):
    name, data = file
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        report = new_report(path, "files")
        items = list(read_file(report, "files"))
    assert items or report.skipped
    for item in items:
        assert isinstance(item, Record)
        assert item.document.title
        assert item.document.sentences


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.docx", b"", "without text"),
        ("a.ipynb", b"", "without text"),
        ("a.md", b" \n", "without text"),
        ("a.csv", b"\n\n", "without text"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0", DAMAGED),
        ("a.xlsx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(99), "in an old format of Office"),
        ("a.xlsx", whole_files()["a.docx"], DAMAGED),
        ("a.pptx", whole_files()["a.xlsx"], DAMAGED),
        ("a.odt", whole_files()["a.ods"], DAMAGED),
        ("a.odt", whole_files()["a.epub"], DAMAGED),
        ("a.rtf", b"A text without marks.", DAMAGED),
        ("a.eml", b"\x89PNG\r\n\x1a\n\0\0\0", DAMAGED),
        ("~$a.xlsx", b"\x03Ida", "lock files of open documents"),
        ("a.pdf", b"<html>Not found</html>", DAMAGED),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0", DAMAGED),
        ("a.docx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(99), "in an old format of Office"),
        ("~$a.docx", b"\x03Ida", "lock files of open documents"),
        ("a.ipynb", b"[]", DAMAGED),
        ("a.md.gz", gzip.compress(b"Some text. " * 99, mtime=0)[:-9], DAMAGED),
    ],
)
def test_reasons(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    report = new_report(tmp_path / name, "files")
    assert list(read_file(report, "files")) == []
    assert report.skipped == reason
    assert len(report.errors) == (reason == DAMAGED)


def test_names_that_are_not_utf8(tmp_path):
    (tmp_path / "in").mkdir()
    try:
        with open(os.fsencode(tmp_path / "in") + b"/caf\xe9.txt", "wb") as file:
            file.write(TEXT.encode())
    except OSError:
        pytest.skip("the file system has no such names")
    assert build(tmp_path / "in", tmp_path / "kb", bm25="none", progress=False).documents == 1
