"""Workbooks: what a reader of the visible sheets sees, with formats of numbers and merged cells."""

import io
import zipfile
from datetime import date, datetime, time, timedelta

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.workbook_files import read_xlsx, shown_number

Workbook = openpyxl.Workbook


def saved(book):
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def read(data):
    text = TextBuilder()
    read_xlsx(data, text)
    return text


def sentences(text):
    return [(" > ".join(s.section), s.text) for s in text.sentences()]


def rows(*given, change=lambda sheet: None):
    """Return the sentences of a workbook of one sheet, which is changed before it is saved."""
    book = Workbook()
    for row in given:
        book.active.append(row)
    change(book.active)
    return [text for _, text in sentences(read(saved(book)))]


def edited(data, member, old, new):
    """Return a file with one text of a member replaced."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(file, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if name == member:
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            after.writestr(name, content)
    return file.getvalue()


def test_one_sheet_is_the_file():
    book = Workbook()
    book.active.title = "Lamps"
    book.properties.title = "The lamps"
    book.active.append(["Lamp", "Height", "Lit"])
    book.active.append(["Eddy", 41, True])
    book.create_sheet("Sheet2")  # empty
    text = read(saved(book))
    assert text.titles == ["The lamps"]
    assert text.parts == {}
    assert sentences(text) == [("sheet Lamps", "Lamp: Eddy; Height: 41; Lit: TRUE.")]


def test_several_sheets_are_documents_and_hidden_ones_are_not():
    book = Workbook()
    for name, state in (("Lamps", "visible"), ("Secret", "hidden"), ("Deep", "veryHidden")):
        sheet = book.create_sheet(name)
        sheet.append([f"{name} of the coast"])
        sheet.append([])
        sheet.append(["Lamp", "Height"])
        sheet.append(["Eddy", 41])
        sheet.sheet_state = state
    book.active.append(["Year", "Litres"])
    book.active.append([1990, 5])
    text = read(saved(book))
    assert sentences(text) == []
    assert {name: part.titles[0] for name, part in text.parts.items()} == {
        "Sheet": "Sheet",
        "Lamps": "Lamps",
    }
    assert sentences(text.parts["Lamps"]) == [
        ("sheet Lamps > Lamps of the coast", "Lamp: Eddy; Height: 41.")
    ]


def test_hidden_rows_and_columns():
    def hide(sheet):
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["B"].hidden = True

    given = [["Lamp", "Secret", "Height"], ["Bell", 1, 35], ["Eddy", 2, 41]]
    assert rows(*given, change=hide) == ["Lamp: Eddy; Height: 41."]
    book = Workbook()
    for row in given:
        book.active.append(row)
    book.active.column_dimensions["B"].width = 7
    data = edited(saved(book), "xl/worksheets/sheet1.xml", 'width="7"', 'width="0"')
    assert sentences(read(data))[0][1] == "Lamp: Bell; Height: 35."


def test_merged_cells():
    def merge(sheet):
        for place in ("A1:A2", "B1:C1", "A3:A4", "B5:C5", "A6:D6"):
            sheet.merge_cells(place)
        sheet.column_dimensions["D"].hidden = True

    assert rows(
        ["Lamp", "2023", None, "2024"],
        [None, "Spring", "Autumn", "Spring"],
        ["Eddy", 1, 2, 3],
        [None, 4, 5, 6],
        ["Bell", "closed", None, 7],
        ["All figures are counts."],
        change=merge,
    ) == [
        "Lamp: Eddy; 2023 Spring: 1; 2023 Autumn: 2.",
        "Lamp: Eddy; 2023 Spring: 4; 2023 Autumn: 5.",
        "Lamp: Bell; 2023 Spring, 2023 Autumn: closed.",
        "All figures are counts.",
    ]


def test_dates_numbers_and_texts_as_they_are_shown():
    shown = {
        "Share": (0.256, "0.0%", "25.6%"),
        "Price": (1234.5, '#,##0.00 "EUR"', "1,234.50 EUR"),
        "Due": (date(2024, 5, 1), "dd/mm/yyyy", "2024-05-01"),
        "Month": (date(2024, 5, 1), "mmm yyyy", "May 2024"),
        "At": (datetime(2024, 5, 1, 13, 30), "yyyy-mm-dd hh:mm", "2024-05-01 13:30"),
        "Hour": (time(7, 5), "h:mm AM/PM", "07:05"),
        "Took": (timedelta(hours=26, minutes=24), "[h]:mm", "26:24"),
        "Code": (123, "00000", "00123"),
        "Sum": (0.1 + 0.2, "General", "0.3"),
        "Error": ("#N/A", "General", "#N/A"),
        "Text": ("1e5", "@", "1e5"),
        "Lines": ("one_x000D_\ntwo", "General", "one two"),
    }

    def format(sheet):
        for cell, (_, code, _) in zip(sheet[2], shown.values(), strict=True):
            cell.number_format = code

    [row] = rows(list(shown), [value for value, _, _ in shown.values()], change=format)
    assert row == "; ".join(f"{name}: {last}" for name, (_, _, last) in shown.items()) + "."


def test_hidden_values_and_raised_text():
    def format(sheet):
        sheet["B2"].number_format = ";;;"
        raised = TextBlock(InlineFont(vertAlign="superscript"), "6")
        sheet["C2"] = CellRichText("about 10", raised, " litres")

    assert rows(["Lamp", "Code", "Oil"], ["Eddy", 5, "x"], change=format) == [
        "Lamp: Eddy; Oil: about 10^6 litres."
    ]


def test_formulas_have_their_stored_values():
    book = Workbook()
    book.active.append(["Lamp", "Height", "Feet"])
    book.active.append(["Eddy", 41, "=B2*3.3"])
    book.active.append(["Bell", 35, "=B3*3.3"])
    data = edited(
        saved(book), "xl/worksheets/sheet1.xml", "<f>B2*3.3</f><v></v>", "<f>B2</f><v>135</v>"
    )
    text = read(data)
    assert [s for _, s in sentences(text)] == [
        "Lamp: Eddy; Height: 41; Feet: 135.",
        "Lamp: Bell; Height: 35.",
    ]
    assert text.notes == [
        "1 formulas on sheet Sheet have no stored value; save the file in a spreadsheet program"
    ]


def test_days_since_1904_and_cells_without_places():
    book = Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(["Lamp", "Built"])
    book.active.append(["Eddy", date(1982, 5, 1)])
    data = saved(book)
    for place in ("A1", "B1", "A2", "B2"):
        data = edited(data, "xl/worksheets/sheet1.xml", f' r="{place}"', "")
    assert [s for _, s in sentences(read(data))] == ["Lamp: Eddy; Built: 1982-05-01."]


def test_wide_and_long_sheets_take_no_time():
    def spread(sheet):
        sheet["XFD3"] = "far"
        sheet["A1048576"] = "deep"

    assert rows(["Lamp", "Height"], ["Eddy", 41], change=spread)[-1].endswith("deep")


def test_files_that_are_no_workbooks():
    book = saved(Workbook())
    assert sentences(read(book)) == []
    bomb = '<!DOCTYPE w [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><worksheet'
    sheet = "xl/worksheets/sheet1.xml"
    cell = '<c t="inlineStr"><is><t>&b;</t></is></c>'
    data = edited(book, sheet, "<sheetData>", f"<sheetData><row>{cell}</row>")
    assert "aa" not in str(sentences(read(edited(data, sheet, "<worksheet", bomb))))
    with pytest.raises(ValueError, match="no workbook"):
        read(edited(book, "xl/workbook.xml", "workbook", "playbook"))
    encrypted = bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(UnreadableFileError, match="encrypted"):
        read(encrypted)


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (0, "0.00;(0.00)", "0.00"),
        (0, "0;-0;;@", ""),
        (0, '0;-0;"none"', "none"),
        (-3, "0", "-3"),
        (-7, "000.0", "-007.0"),
        (2.675, "0.00", "2.68"),
        (5, "#,##0.##", "5"),
        (12345678, '#,##0.0,,"M"', "12.3M"),
        (12000, '0,"K"', "12K"),
        (3, '_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-', "3.00 €"),
        (3, "[$€-2] 0.00", "€ 3.00"),
        (3, '0" kg;net"', "3 kg;net"),
        (123456, "0.00E+00", "1.23E+5"),
        (5.25, "# ?/?", "5.25"),
        (123456789, "000-00-0000", "123456789"),
        (1234.5, "[Red][<0]0;0.00", "1234.5"),
        (1815.0, "General", "1815"),
        (1e20, "General", "100000000000000000000"),
        (1.5e-7, "General", "0.00000015"),
        (45413, "dddd", "Wednesday"),
        (45413, "yyyy", "2024"),
        (45413, "[$-407]d. mmmm", "1 May"),
        (-1, "yyyy-mm-dd", "-1"),
        (1e9, "yyyy-mm-dd", "1000000000"),
    ],
)
def test_number_formats(value, code, shown):
    assert shown_number(value, code) == shown


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.text('#0?.,;%E+-/@"\\_*[]$€<>=dmyhs General', max_size=20),
)
def test_any_number_has_a_text_in_any_format(value, code):
    assert isinstance(shown_number(value, code), str)
