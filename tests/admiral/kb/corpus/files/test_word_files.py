"""Word documents are read as they are shown."""

import io
import zipfile

import pytest

from admiral.io.limited_reading import FileLimits, read_limited
from admiral.kb.corpus.files import TextBuilder
from admiral.kb.corpus.files.word_files import read_docx

EXTRACT = "admiral.kb.corpus.document_files:extract"
TRANSITIONAL = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="N"><w:name w:val="Normal"/></w:style>
<w:style w:styleId="U1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="My"><w:name w:val="Mine"/><w:basedOn w:val="U1"/></w:style>
<w:style w:styleId="B"><w:name w:val="Bulleted"/><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr>
</w:pPr></w:style>
<w:style w:styleId="V"><w:name w:val="Gone"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:styleId="T1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
"""


def word(body, notes="", namespace=TRANSITIONAL):
    file = io.BytesIO()
    declared = f'xmlns:w="{namespace}" xmlns:mc="urn:mc" xmlns:m="urn:m"'
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "word/document.xml", f"<w:document {declared}><w:body>{body}</w:body></w:document>"
        )
        archive.writestr("word/styles.xml", f"<w:styles {declared}>{STYLES}</w:styles>")
        archive.writestr(
            "word/_rels/document.xml.rels",
            '<Relationships><Relationship Type="x/styles" Target="styles.xml"/></Relationships>',
        )
        if notes:
            archive.writestr("word/footnotes.xml", f"<w:n {declared}>{notes}</w:n>")
    return file.getvalue()


def read(body, notes="", namespace=TRANSITIONAL):
    text = TextBuilder()
    read_docx(word(body, notes, namespace), text)
    return [" > ".join((*s.section, s.text)) for s in text.sentences()]


def run(text, properties=""):
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def paragraph(*runs, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


WORDS = run("red")
FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'


@pytest.mark.parametrize(
    "middle",
    [
        f"<w:ins>{WORDS}</w:ins>",
        f"<w:moveTo>{WORDS}</w:moveTo><w:moveFrom>{run('old')}</w:moveFrom>",
        f"<w:del><w:r><w:delText>old</w:delText></w:r></w:del>{WORDS}",
        f"<w:smartTag><w:smartTag>{WORDS}</w:smartTag></w:smartTag>",
        f"<w:hyperlink>{WORDS}</w:hyperlink>",
        f"<w:sdt><w:sdtPr/><w:sdtContent>{WORDS}</w:sdtContent></w:sdt>",
        f"<w:fldSimple>{WORDS}</w:fldSimple>",
        FIELD.format("begin")
        + run("shown not")
        + FIELD.format("separate")
        + WORDS
        + FIELD.format("end"),
        WORDS + run("hidden", "<w:vanish/>") + run("hidden", '<w:rStyle w:val="V"/>'),
        run("red", '<w:rStyle w:val="V"/><w:vanish w:val="0"/>'),
        f"<mc:AlternateContent><mc:Choice>{WORDS}</mc:Choice><mc:Fallback>{WORDS}</mc:Fallback>"
        "</mc:AlternateContent>",
        "<w:r><w:t>r</w:t><w:softHyphen/><w:t>ed</w:t></w:r>",
        WORDS + '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>',
    ],
)
@pytest.mark.parametrize("namespace", [TRANSITIONAL, STRICT])
def test_words_that_are_shown(middle, namespace):
    body = paragraph(run("Roses are "), middle, run("."))
    assert read(body, namespace=namespace) == ["Roses are red."]


def test_raised_numbers_and_formulas():
    raised = run("7", '<w:vertAlign w:val="superscript"/>')
    formula = (
        "<m:oMath><m:sSup><m:e><m:r><m:t>v</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup>"
        "</m:sSup></m:oMath>"
    )
    body = paragraph(run("It has 10"), raised, run(" cells and "), formula, run(" of it."), raised)
    assert read(body) == ["It has 10^7 cells and v^2 of it."]
    sign = '<w:r><w:sym w:font="Symbol" w:char="F0B1"/></w:r>'
    assert read(paragraph(run("It is 5 "), sign, run(" 2 m."))) == ["It is 5 ± 2 m."]


def test_headings_lists_and_contents():
    def styled(text, style):
        return paragraph(run(text), properties=f'<w:pStyle w:val="{style}"/>')

    body = (
        "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/>"
        f"</w:docPartObj></w:sdtPr><w:sdtContent>{paragraph(run('Contents 1'))}</w:sdtContent>"
        f"</w:sdt>{styled('Rivers ... 2', 'T1')}{styled('Rivers', 'My')}"
        + paragraph(run("Banks"), properties='<w:outlineLvl w:val="1"/>')
        + paragraph(run("They have:"))
        + styled("reeds", "B")
        + styled("mud", "B")
        + styled("This is looped.", "Loop")
        + styled("None sees this.", "V")
        + f"<w:sdt><w:sdtContent>{paragraph(run('This is a block.'))}</w:sdtContent></w:sdt>"
        + "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
        + paragraph(run("Click here."))
        + "</w:sdtContent></w:sdt>"
    )
    assert read(body) == [
        "Rivers > Banks > They have: reeds; mud.",
        "Rivers > Banks > This is looped.",
        "Rivers > Banks > This is a block.",
    ]


def test_deleted_end_of_a_paragraph():
    first = paragraph(run("The wind "), properties="<w:rPr><w:del/></w:rPr>")
    assert read(first + paragraph(run("is cold."))) == ["The wind is cold."]


def test_notes_and_text_boxes_follow_their_paragraph():
    mark = '<w:r><w:footnoteReference w:id="4"/></w:r>'
    box = f"<w:txbxContent>{paragraph(run('A box.'))}</w:txbxContent>"
    drawing = (
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    notes = (
        '<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        f'<w:footnote w:id="4">{paragraph(run("A note."))}</w:footnote>'
    )
    body = paragraph(run("Snow fell"), mark, run(" in May."), drawing) + paragraph(
        run("It melted.")
    )
    assert read(body, notes) == ["Snow fell in May.", "A box.", "A note.", "It melted."]


def table(*rows):
    written = ""
    for row in rows:
        written += "<w:tr>"
        for cell in row:
            text, properties = (cell, "") if isinstance(cell, str) else cell
            written += f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(run(text))}</w:tc>"
        written += "</w:tr>"
    return f"<w:tbl>{written}</w:tbl>"


def test_tables():
    wide, first, more = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    assert read(
        table(
            ["River", "May", "June"],
            [("Isk", first), "low", "high"],
            [("", more), ("dry", wide)],
            ["Orm", ("full", wide)],
        )
    ) == [
        "River: Isk; May: low; June: high.",
        "River: Isk; May, June: dry.",
        "River: Orm; May, June: full.",
    ]
    assert read(table(["Length", "7 km"], ["Mouth", "Isk Bay"])) == [
        "Length: 7 km.",
        "Mouth: Isk Bay.",
    ]
    assert read(table(["Name:", "Orm"], ["Mouth:", "Isk Bay"])) == ["Name: Orm.", "Mouth: Isk Bay."]
    assert read(table(["Alone", "here"])) == ["Alone; here."]


@pytest.mark.parametrize("span", [10**9, 10**30, 0, -1, "x"])
def test_a_cell_says_that_it_spans_any_number_of_columns(span):
    wide = f'<w:gridSpan w:val="{span}"/>'
    written = table(["River", "May"], [("dry", wide)], ["Isk", "low"])
    data = word(paragraph(run("Before.")) + written)
    limits = FileLimits(seconds=2)
    ((_, sentences, *_),) = read_limited(EXTRACT, data, limits, name="a.docx", source="")[
        "documents"
    ]
    assert (sentences[0], sentences[-1]) == ("Before.", "River: Isk; May: low.")
