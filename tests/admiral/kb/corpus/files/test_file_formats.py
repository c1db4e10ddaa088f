"""Each format of files: its text without markup, its sections and its possible titles."""

import io
import json
import time
import zipfile

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.sentence_splitter import LONGEST_SENTENCE, sentence_spans
from admiral.kb.corpus import files
from admiral.kb.corpus.files import TextBuilder, UnreadableFileError, office_packages
from admiral.kb.corpus.files.document_titles import choose_title
from admiral.kb.corpus.files.epub_files import read_epub
from admiral.kb.corpus.files.file_types import file_type, stem
from admiral.kb.corpus.files.html_files import read_html
from admiral.kb.corpus.files.markdown_files import (
    read_markdown,
    read_notebook,
    read_restructuredtext,
)
from admiral.kb.corpus.files.pdf_files import read_pdf
from admiral.kb.corpus.files.plain_text_files import read_plain_text
from admiral.kb.corpus.files.word_files import read_docx
from tests.admiral.kb.corpus.files.test_pdf_files import pdf as pdf_of_operators
from tests.admiral.kb.corpus.files.test_pdf_files import shown


def extract(read, data):
    """Return the possible titles and (section, sentence) of a file."""
    text = TextBuilder()
    read(data.encode() if isinstance(data, str) else data, text)
    return text.titles, [(" > ".join(s.section), s.text) for s in text.sentences()]


LISTS = [
    ("Formats", "It reads: PDF; EPUB."),
    ("Formats", "This item of the list is long enough to be a sentence."),
    ("Formats", "So is this one, which has more than eight words."),
    ("Formats", "Name: curl; Year: 1996."),
]


def test_markdown():
    titles, sentences = extract(
        read_markdown,
        "---\ntitle: The manual\n---\n# Guide\nSee [the *docs*](x.md), `code` and [[Note|a note]]. "
        "![picture](y.png)\n\n## Formats\n\nIt reads:\n- PDF\n- EPUB\n\n"
        "1. This item of the list is long enough to be a sentence.\n"
        "2. So is this one, which has more than eight words.\n\n"
        "| Name | Year |\n|---|---|\n| curl | 1996 |\n\n```\ncode\n```\n<pre>x</pre>\n",
    )
    assert titles == ["The manual", "Guide"]
    assert [("Guide > " + section, text) for section, text in LISTS] == sentences[1:]
    assert sentences[0] == ("Guide", "See the docs, code and a note.")


def test_restructuredtext():
    titles, sentences = extract(
        read_restructuredtext,
        "=====\nGuide\n=====\n\n:Author: Ida Penn\n\n"
        "See :ref:`the docs <x>` and :class:`~a.B`.\n\n"
        "Formats\n=======\n\nIt reads:\n\n* PDF\n* EPUB\n\n.. note:: Take care.\n\n"
        ".. function:: f(x)\n   :noindex:\n\n   It doubles a number.\n\n   .. unknown:: x\n\n"
        ".. toctree::\n\n   a\n   b\n\n.. code-block:: python\n\n   x = 1\n\n"
        "====  ====\nName  Year\n====  ====\ncurl  1996\n====  ====\n\n"
        "term\n    Its description.\n\n"
        ".. include:: /etc/passwd\n\n.. raw:: html\n\n   <b>x</b>\n",
    )
    assert titles == ["Guide"]
    assert sentences == [
        ("Guide", "Author: Ida Penn"),
        ("Guide", "See the docs and a.B."),
        ("Formats", "It reads: PDF; EPUB."),
        ("Formats", "Take care."),
        ("Formats", "It doubles a number."),
        ("Formats", "Name: curl; Year: 1996."),
        ("Formats", "term: Its description."),
    ]


HTML = """<html><head><title>Guide &mdash; Site</title><meta charset=iso-8859-1></head><body>
<header>Site</header><nav><ul><li>Home</ul></nav><main><h1>Caf\xe9<a class="headerlink">#</a></h1>
Text &amp; <b>more</b>.<h2>Formats<a class="srclink" href="x">[src]</a>
<span><a href="#f">#</a></span></h2><p>It
<a href="#r">reads</a>:<ul><li>PDF<li><p>EPUB</p></ul><ol>
<li>This item of the list is long enough to be a sentence.
<li>So is this one, which has more than eight words.</ol>
<table><tr><th>Name<th>Year<tr><td>curl<td><p>1996</table><dl><dt>-k<dt>--insecure<dd>Allow it.</dl>
<pre>code</pre><p hidden>hidden<script>x()</script></main><footer>Foot</footer></body></html>"""


def test_html():
    titles, sentences = extract(read_html, HTML.encode("latin-1"))
    assert set(titles) == {"Café", "Guide — Site"}
    assert titles[0] == "Café"
    assert sentences == [
        ("Café", "Text & more."),
        *[("Café > " + section, text) for section, text in LISTS],
        ("Café > Formats", "-k, --insecure: Allow it."),
    ]


def test_html_that_is_nested_deeply():
    deep = "<p>Top<div>" + "<div>" * 10_000 + "Deep"
    assert extract(read_html, deep)[1] == [("", "Top"), ("", "Deep")]
    with pytest.raises(UnreadableFileError, match="nested too deeply"):
        extract(read_html, deep + "<div>" * 1_000_000)


@pytest.mark.parametrize(
    ("start", "count"),
    [("<table><tr><td>", 8000), ("<div>", 15_000), ("<dl><dd>", 6000), ("<ul><li>", 6000)],
)
def test_time_of_nested_html_is_bounded(start, count):
    """Tables of this depth took 8 s of processor time, blocks 3 s, when each looked at all."""
    began = time.process_time()
    sentences = extract(read_html, f"{start}Deep. " * count)[1]
    assert time.process_time() - began < 1.5
    assert sum(text.count("Deep.") for _, text in sentences) == count


def pdf(*pages, **options):
    """Return a PDF file with a line of text for each line of its pages."""
    return pdf_of_operators(*(shown(*page.split("\n")) for page in pages), **options)


def test_pdf():
    first = "A long first line of a paragraph, which is con-\ntinued here. It ends.\nThe next one."
    titles, sentences = extract(read_pdf, pdf(first, "Page two.\n17", title="On lines"))
    assert titles[0] == "On lines"
    assert sentences == [
        ("page 1", "A long first line of a paragraph, which is continued here."),
        ("page 1", "It ends."),
        ("page 1", "The next one."),
        ("page 2", "Page two."),
    ]


def word():
    document = docx.Document()
    document.core_properties.title = "The report"
    document.add_heading("Guide", 0)
    document.add_paragraph("Some text. More text.")
    document.add_heading("Formats", 2)
    document.add_paragraph("It reads:")
    for item in ("PDF", "EPUB"):
        document.add_paragraph(item, style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, value in zip(table._cells, ("Name", "Year", "curl", "1996"), strict=True):
        cell.text = value
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def test_docx():
    titles, sentences = extract(read_docx, word())
    assert titles == ["The report", "Guide"]
    assert sentences == [
        ("Guide", "Some text."),
        ("Guide", "More text."),
        ("Guide > Formats", "It reads: PDF; EPUB."),
        ("Guide > Formats", "Name: curl; Year: 1996."),
    ]


def epub(package_start="", chapter="<h1>One</h1><p>Text.</p>"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:x"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles>'
            "</container>",
        )
        archive.writestr(
            "OPS/book.opf",
            package_start + '<package xmlns:dc="urn:dc"><metadata><dc:title>The book</dc:title>'
            "</metadata><manifest>"
            '<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="a" href="one%20.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>',
        )
        archive.writestr("OPS/one .xhtml", f"<html><body>{chapter}</body></html>")
        archive.writestr("OPS/two.xhtml", "<html><body><h1>Two</h1><p>Last.</p></body></html>")
    return file.getvalue()


def test_epub():
    titles, sentences = extract(read_epub, epub())
    assert titles[0] == "The book"
    assert sentences == [("One", "Text."), ("Two", "Last.")]


def test_archives_have_bounds_and_no_entities(monkeypatch):
    with pytest.raises(ValueError, match="entities"):
        extract(read_epub, epub('<!DOCTYPE x [<!ENTITY a "aaaa">]>'))
    bomb = epub(chapter="a" * 3_000_000)
    assert len(bomb) < 20_000
    monkeypatch.setattr(office_packages, "LONGEST_MEMBER", 2_000_000)
    with pytest.raises(UnreadableFileError, match="too long"):
        extract(read_epub, bomb)
    monkeypatch.setattr(office_packages, "LONGEST_ARCHIVE", 1000)
    with pytest.raises(UnreadableFileError, match="too long"):
        extract(read_docx, word())
    monkeypatch.setattr(files, "LONGEST_TEXT", 10)
    with pytest.raises(UnreadableFileError, match="too long"):
        extract(read_plain_text, "More than ten characters.")


def test_plain_text():
    text = "Guide\n=====\n\nSome text\non two lines.\n\nIt reads:\n- PDF\n- EPUB\n\n----\n\nEnd."
    titles, sentences = extract(read_plain_text, text)
    assert titles == ["Guide"]
    assert [s for _, s in sentences] == ["Some text on two lines.", "It reads: PDF; EPUB.", "End."]
    assert extract(read_plain_text, "Café.".encode("utf-16"))[1] == [("", "Café.")]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        # A wrapped line begins with the last number of its sentence.
        ("They all live at number\n17. It is a large red house.", ["They all live at number 17."]),
        ("It was sold for\n3) crowns and a horse.", ["It was sold for 3) crowns and a horse."]),
        # Lists with and without a line before them.
        ("To do\n1. Sleep\n2. Eat", ["To do", "Sleep; Eat."]),
        ("As follows:\n4. Sleep\n5. Eat", ["As follows: Sleep; Eat."]),
        ("7. Sleep\n8. Eat", ["Sleep; Eat."]),
    ],
)
def test_numbers_at_the_beginning_of_lines(text, sentences):
    assert [s for _, s in extract(read_plain_text, text)[1]][: len(sentences)] == sentences


def test_notebooks():
    cells = [
        {"cell_type": "markdown", "source": ["# Guide\n", "Text."]},
        {"cell_type": "code", "source": "x = 1", "outputs": []},
        {"cell_type": "markdown", "source": "## End\nLast."},
    ]
    notebook = json.dumps({"nbformat": 4, "metadata": {}, "cells": cells})
    assert extract(read_notebook, notebook) == (
        ["Guide"],
        [("Guide", "Text."), ("Guide > End", "Last.")],
    )


def test_offsets_lead_to_the_sentences():
    text = TextBuilder()
    read_markdown(b"One. Two.\n\n# H\n- Item a\n- Item b\n\nThree.", text)
    sentences = list(text.sentences())
    extracted = "One. Two.\n\nItem a; Item b.\n\nThree."
    assert [extracted[s.offset :][: len(s.text)] for s in sentences] == [s.text for s in sentences]


@given(
    st.lists(st.sampled_from(["#", "a b.", "- x", "\n", "|", "```", "*", "[", "](", "<p>", "> "]))
)
def test_no_markdown_or_text_is_an_error(parts):
    source = "\n".join(parts)
    for read in (read_markdown, read_plain_text, read_restructuredtext, read_html):
        for _, sentence in extract(read, source)[1]:
            assert any(map(str.isalnum, sentence))


def test_a_text_without_sentence_ends_is_split():
    for text in ("word " * 100_000, "x" * 100_000):
        spans = sentence_spans(text)
        assert max(end - start for start, end in spans) <= LONGEST_SENTENCE
        assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.md", "Markdown"),
        ("A.HTM", "HTML"),
        ("README", "plain text"),
        ("LICENSE.txt", "plain text"),
        ("LICENSE-MIT", "plain text"),
        ("mount.8.gz", None),
        ("install.1.gz", None),
        ("INSTALL.1", "plain text"),
        ("setup.py", None),
        ("history.py", None),
        ("wiki_00", None),
        ("a.tar.gz", None),
    ],
)
def test_formats_by_name(name, format):
    kind = file_type(name)
    assert (kind.name if kind else None) == format


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("4. Memcheck: a detector", "Memcheck: a detector"),
        ("2.1. Lamps", "Lamps"),
        ("3) Lamps", "Lamps"),
        ("Chapter 2. Lamps", "Lamps"),
        ("Appendix B: Lamps", "Lamps"),
        ("Part III. Lamps", "Lamps"),
        ("2.1 Lamps", "2.1 Lamps"),
        ("1984", "1984"),
        ("1. 2.", "1. 2."),
        ("Part time lamps", "Part time lamps"),
        ("7-Zip", "7-Zip"),
        ("2. SC Lampertheim", "2. SC Lampertheim"),
        ("Section 31 notices", "Section 31 notices"),
        ("Section 31 Notices", "Notices"),
    ],
)
def test_titles_have_no_numbers_of_sections(heading, title):
    assert choose_title([heading], "x.html") == title


def test_titles_that_say_nothing_are_left_out():
    assert choose_title(["Synopsis", "Microsoft Word - a.doc", "The lamp"], "x.md") == "The lamp"
    assert choose_title(["README", "x" * 300], "old_lamp.md") == "old lamp"
    assert choose_title(["1. AUTHORS", "About"], "dist.authors.html") == "dist.authors"
    assert stem("lamp.txt.gz") == "lamp"
