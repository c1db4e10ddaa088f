"""Presentations: the text of the slides that are shown, in order, with tables and notes."""

import io
import zipfile

import pytest
from pptx import Presentation
from pptx.util import Inches

from admiral.kb.corpus.files.slide_files import read_pptx
from tests.admiral.kb.corpus.files.test_file_formats import extract

PLACE = (Inches(1), Inches(1), Inches(4), Inches(2))


def saved(slides):
    file = io.BytesIO()
    slides.save(file)
    return file.getvalue()


def test_slides_in_order():
    slides = Presentation()
    slides.core_properties.title = "PowerPoint Presentation"
    first = slides.slides.add_slide(slides.slide_layouts[0])
    first.shapes.title.text, first.placeholders[1].text = "Lamps of the coast", "By Ida Penn"
    second = slides.slides.add_slide(slides.slide_layouts[1])
    second.shapes.title.text = "Fuel"
    frame = second.placeholders[1].text_frame
    frame.text = "Oil"
    frame.add_paragraph().text = "Gas"
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(*PLACE).text_frame.text = "In a group."
    second.notes_slide.notes_text_frame.text = "Ask about the oil."
    third = slides.slides.add_slide(slides.slide_layouts[5])
    third.shapes.title.text = "Use grew by 12% in 2024"
    titles, sentences = extract(read_pptx, saved(slides))
    assert titles[:2] == ["PowerPoint Presentation", "Lamps of the coast"]
    assert sentences == [
        ("slide 1 > Lamps of the coast", "By Ida Penn"),
        ("slide 2 > Fuel", "Oil; Gas."),
        ("slide 2 > Fuel", "In a group."),
        ("slide 2 > Fuel", "Ask about the oil."),
        ("slide 3 > Use grew by 12% in 2024", "Use grew by 12% in 2024"),
    ]


def test_what_is_not_shown():
    slides = Presentation()
    for name in ("Shown", "Hidden"):
        slide = slides.slides.add_slide(slides.slide_layouts[5])
        slide.shapes.title.text = f"{name} slide"
        slide.shapes.add_textbox(*PLACE).text_frame.text = f"{name} text."
    slide._element.set("show", "0")
    box = slides.slides[0].shapes.add_textbox(*PLACE)
    box.text_frame.text = "A hidden box."
    box._element.nvSpPr.cNvPr.set("hidden", "1")
    footer = slides.slides[0].shapes.add_textbox(*PLACE)
    footer.text_frame.text = "A footer."
    footer._element.nvSpPr.nvPr.append(
        footer._element.makeelement(
            "{http://schemas.openxmlformats.org/presentationml/2006/main}ph", {"type": "ftr"}
        )
    )
    assert extract(read_pptx, saved(slides))[1] == [("slide 1 > Shown slide", "Shown text.")]


def test_tables_and_raised_text():
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    table = slide.shapes.add_table(4, 3, *PLACE).table
    cells = ["Lamp", "Fuel", "", "Eddy", "Oil", "Gas", "", "41 m", "42 m", "Bell", "none", ""]
    for cell, value in zip(table.iter_cells(), cells, strict=True):
        cell.text = value
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(3, 1).merge(table.cell(3, 2))
    paragraph = slide.shapes.add_textbox(*PLACE).text_frame.paragraphs[0]
    for text, baseline in (
        ("It holds 10", "0"),
        ("6", "30000"),
        (" ml of H", "0"),
        ("2", "-25000"),
    ):
        run = paragraph.add_run()
        run.text = text
        run.font._element.set("baseline", baseline)
    paragraph.add_run().text = "O."
    assert [text for _, text in extract(read_pptx, saved(slides))[1]] == [
        "Lamp: Eddy; Fuel: Oil; Fuel: Gas.",
        "Lamp: Eddy; Fuel: 41 m; Fuel: 42 m.",
        "Lamp: Bell; Fuel: none.",
        "It holds 10^6 ml of H2O.",
    ]


def test_a_diagram_and_other_files():
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    slide.shapes.add_table(1, 1, *PLACE)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(slides))) as before, zipfile.ZipFile(file, "w") as after:
        for name in before.namelist():
            content = before.read(name).decode("latin-1")
            if name == "ppt/slides/slide1.xml":
                start, end = content.index("<a:tbl>"), content.index("</a:tbl>")
                relation = '<d:relIds xmlns:d="urn:d" xmlns:r="urn:r" r:dm="rId9"/>'
                content = content[:start] + relation + content[end + len("</a:tbl>") :]
            if name == "ppt/slides/_rels/slide1.xml.rels":
                relation = '<Relationship Id="rId9" Type="x/diagramData" Target="../data.xml"/>'
                content = content.replace("</Relationships>", relation + "</Relationships>")
            after.writestr(name, content.encode("latin-1"))
        point = "<d:pt{}><d:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></d:t></d:pt>"
        after.writestr(
            "ppt/data.xml",
            '<d:m xmlns:d="urn:d" xmlns:a="urn:a"><d:ptLst>'
            + point.format("", "Light the lamp")
            + point.format(' type="pres"', "Placeholder")
            + point.format(' type="node"', "Watch it")
            + "</d:ptLst></d:m>",
        )
    assert [text for _, text in extract(read_pptx, file.getvalue())[1]] == [
        "Light the lamp; Watch it."
    ]
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("ppt/presentation.xml", "<document/>")
    with pytest.raises(ValueError, match="no presentation"):
        extract(read_pptx, file.getvalue())
