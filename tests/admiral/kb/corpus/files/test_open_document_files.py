"""Documents and sheets of OpenDocument: what their reader sees, and nothing else."""

import io
import zipfile
from datetime import date

import odfdo
import pytest

from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.open_document_files import read_ods, read_odt
from tests.admiral.kb.corpus.files.test_file_formats import extract

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "drawing", "manifest", "meta")
)


def saved(document):
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def odt(body, styles="", kind="text", **members):
    """Return a document with a body and automatic styles in XML."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "content.xml",
            f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
        )
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", ".", 1), content)
    return file.getvalue()


def texts(body, styles=""):
    return [text for _, text in extract(read_odt, odt(body, styles))[1]]


def test_a_document_of_a_writer():
    document = odfdo.Document("text")
    body = document.body
    body.clear()
    document.meta.title = "Lamp report"
    body.append(odfdo.Header(1, "Lamps"))
    paragraph = odfdo.Paragraph("It was built in 1882.")
    paragraph.insert_note(after="built", note_id="n1", citation="1", body="By Ida Penn.")
    body.append(paragraph)
    body.append(odfdo.Header(2, "Fuel"))
    body.append(odfdo.Paragraph("It burns:"))
    body.append(odfdo.List(["Oil", "Gas"]))
    table = odfdo.Table("Heights", width=2, height=2)
    table.set_values([["Lamp", "Height"], ["Eddy", "41 m"]])
    body.append(table)
    titles, sentences = extract(read_odt, saved(document))
    assert titles == ["Lamp report", "Lamps"]
    assert sentences == [
        ("Lamps", "It was built in 1882."),
        ("Lamps", "By Ida Penn."),
        ("Lamps > Fuel", "It burns: Oil; Gas."),
        ("Lamps > Fuel", "Lamp: Eddy; Height: 41 m."),
    ]


STYLES = (
    '<style:style style:name="H" style:family="text"><style:text-properties text:display="none"/>'
    '</style:style><style:style style:name="S" style:family="text">'
    '<style:text-properties style:text-position="super 58%"/></style:style>'
    '<style:style style:name="B" style:family="text">'
    '<style:text-properties style:text-position="-33% 58%"/></style:style>'
    '<style:style style:name="P" style:family="paragraph" style:parent-style-name="Q"/>'
    '<style:style style:name="Q" style:family="paragraph"><style:text-properties '
    'text:display="none"/></style:style>'
    '<style:style style:name="T" style:family="paragraph" style:parent-style-name="Title"/>'
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<text:p>The<text:s text:c='2'/>lamp<text:tab/>is<text:line-break/>lit.</text:p>",
         ["The lamp is lit."]),
        ("<text:p>About 10<text:span text:style-name='S'>6</text:span> ml of H"
         "<text:span text:style-name='B'>2</text:span>O.</text:p>", ["About 10^6 ml of H2O."]),
        ("<text:p>Seen<text:span text:style-name='H'> hidden</text:span>.</text:p>"
         "<text:p text:style-name='P'>Hidden.</text:p>", ["Seen."]),
        ("<text:section text:display='none'><text:p>No.</text:p></text:section>"
         "<text:section><text:p>Yes.</text:p></text:section>", ["Yes."]),
        ("<text:tracked-changes><text:changed-region><text:deletion><text:p>Gone.</text:p>"
         "</text:deletion></text:changed-region></text:tracked-changes><text:p>Now"
         "<text:change/> here<office:annotation><text:p>A comment.</text:p></office:annotation>."
         "</text:p>", ["Now here."]),
        ("<text:table-of-content><text:index-body><text:p>Fuel 4</text:p></text:index-body>"
         "</text:table-of-content><text:p>Fuel.</text:p>", ["Fuel."]),
        ("<text:p>A <text:placeholder>name</text:placeholder>frame<drawing:frame><drawing:text-box>"
         "<text:p>In a box.</text:p></drawing:text-box></drawing:frame>.</text:p>",
         ["A frame.", "In a box."]),
        ("<text:p>No <text:hidden-paragraph text:is-hidden='true'/>way.</text:p><text:p>Yes"
         "<text:hidden-text text:is-hidden='true'> or no</text:hidden-text>.</text:p>", ["Yes."]),
        ("<text:p>See <text:a><text:span>the page</text:span></text:a> of "
         "<text:date>1 May</text:date>.</text:p>", ["See the page of 1 May."]),
        ("<text:list><text:list-item><text:p>Oil</text:p><text:list><text:list-item>"
         "<text:p>Gas</text:p></text:list-item></text:list></text:list-item></text:list>",
         ["Oil; Gas."]),
        ("<table:table><table:table-column table:number-columns-repeated='2'/>"
         "<table:table-header-rows><table:table-row><table:table-cell><text:p>Lamp</text:p>"
         "</table:table-cell><table:table-cell><text:p>Height</text:p></table:table-cell>"
         "</table:table-row></table:table-header-rows><table:table-row><table:table-cell "
         "table:number-rows-spanned='2'><text:p>Eddy</text:p></table:table-cell><table:table-cell>"
         "<text:p>41 m</text:p><text:p>tall</text:p></table:table-cell></table:table-row>"
         "<table:table-row><table:covered-table-cell/><table:table-cell><text:p>42 m</text:p>"
         "</table:table-cell></table:table-row></table:table>",
         ["Lamp: Eddy; Height: 41 m; tall.", "Lamp: Eddy; Height: 42 m."]),
    ],
)  # fmt: skip
def test_what_is_shown(body, expected):
    assert texts(body, STYLES) == expected


def test_the_title_is_a_heading():
    body = '<text:p text:style-name="T">The lamps</text:p><text:p>They shine.</text:p>'
    assert extract(read_odt, odt(body, STYLES)) == (["The lamps"], [("The lamps", "They shine.")])


def test_sheets():
    book = odfdo.Document("spreadsheet")
    book.body.clear()
    lamps = odfdo.Table("Lamps")
    lamps.set_values(
        [["Lamp", "Height", "Built"], ["Eddy", 41, date(1882, 5, 1)], ["", 42.5, date(1883, 1, 2)]]
    )
    lamps.set_span((0, 1, 0, 2))
    fuel = odfdo.Table("Fuel")
    fuel.set_values([["Year", "Litres"], [1990, 5]])
    for table in (lamps, fuel, odfdo.Table("Empty")):
        book.body.append(table)
    text = TextBuilder()
    read_ods(saved(book), text)
    assert {name: [s.text for s in part.sentences()] for name, part in text.parts.items()} == {
        "Lamps": [
            "Lamp: Eddy; Height: 41; Built: 1882-05-01.",
            "Lamp: Eddy; Height: 42.5; Built: 1883-01-02.",
        ],
        "Fuel": ["Year: 1990; Litres: 5."],
    }


def test_hidden_sheets_rows_and_columns():
    def row(*values, hidden=""):
        cells = "".join(
            f"<table:table-cell><text:p>{v}</text:p></table:table-cell>" for v in values
        )
        return f"<table:table-row {hidden}>{cells}</table:table-row>"

    shown, collapsed = "<table:table-column/>", '<table:table-column table:visibility="collapse"/>'
    columns = shown + collapsed + shown
    hidden = 'table:visibility="filter"'
    rows = row("Lamp", "Code", "Height") + row("Bell", "1", "35", hidden=hidden)
    rows += row("Eddy", "2", "41") + '<table:table-row table:number-rows-repeated="1048000"/>'
    style = (
        '<style:style style:name="X" style:family="table"><style:table-properties '
        'table:display="false"/></style:style>'
    )
    body = f'<table:table table:name="A">{columns}{rows}</table:table>'
    body += f'<table:table table:name="B" table:style-name="X">{rows}</table:table>'
    assert extract(read_ods, odt(body, style, "spreadsheet"))[1] == [
        ("sheet A", "Lamp: Eddy; Height: 41.")
    ]


def test_bounds_and_files_that_cannot_be_read():
    cell = "<table:table-row table:number-rows-repeated='99999999'><table:table-cell><text:p>x"
    bomb = f"<table:table>{cell}</text:p></table:table-cell></table:table-row></table:table>"
    with pytest.raises(UnreadableFileError, match="too long"):
        texts(bomb.replace("<text:p>x", f"<text:p>{'x' * 9999}"))
    cell = "<table:table-cell table:number-columns-spanned='99999999'><text:p>Wide.</text:p>"
    row = f"<table:table-row>{cell}</table:table-cell></table:table-row>"
    other = (
        "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell>"
    )
    other += "<text:p>b</text:p></table:table-cell></table:table-row>"
    assert texts(f"<table:table>{row}{other}{other}</table:table>") == ["Wide.", "a: a; b: b."]
    manifest = f"<manifest:manifest {NAMESPACES}><manifest:file-entry><manifest:encryption-data/>"
    manifest += "</manifest:file-entry></manifest:manifest>"
    with pytest.raises(UnreadableFileError, match="encrypted"):
        extract(read_odt, odt("<text:p/>", **{"META-INF__manifest_xml": manifest}))
    with pytest.raises(ValueError, match="no OpenDocument"):
        extract(read_ods, odt("<text:p>A text.</text:p>"))
    data = odt("<text:p>&#65;</text:p>")
    entity = '<!DOCTYPE x [<!ENTITY a "secret">]><office:document-content'
    bombed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(bombed, "w") as after:
        content = before.read("content.xml").decode().replace("&#65;", "A &a;")
        after.writestr("content.xml", content.replace("<office:document-content", entity, 1))
    assert extract(read_odt, bombed.getvalue())[1] == [("", "A")]
