"""Marks outside running text: in infoboxes, tables, captions, quotations, headings and notes."""

from __future__ import annotations

import pytest

from admiral.citations.extract import extract_claims

A, B = "https://a.example/1", "https://b.example/2"
REF_A, REF_B = f"<ref>[{A} Ay]</ref>", f"<ref>[{B} Bee]</ref>"


def found(page, **options):
    """Return each claim with its kind, its part up to the mark, and its URLs."""
    return [
        (each.kind, each.claim, each.claim[slice(*each.span)], [one.url for one in each.citations])
        for each in extract_claims(page, "Tyne", format="wikitext", **options)
    ]


def whole(kind, claim, *urls):
    return kind, claim, claim, list(urls)


BOX = "{{{{Infobox town\n| name = Tyne\n{}\n}}}}\nThe Tyne is a river."
BOXES = {
    f"| population_total = 1,200{REF_A}": [whole("infobox", "Population total: 1,200", A)],
    # A parameter of another one's name.
    f"| established_title2 = Chartered\n| established_date2 = 1301{REF_A}": [
        whole("infobox", "Chartered: 1301", A)
    ],
    f"| label3 = Mouth\n| data3 = [[Tynemouth]]{REF_A}": [whole("infobox", "Mouth: Tynemouth", A)],
    f"| rev1 = The Paper\n| rev1score = good{REF_A}": [whole("infobox", "The Paper: good", A)],
    # Footnotes are about what begins as they do.
    f"| area_total = 5 km\n| area_code = 0191\n| pop = 3\n| area_footnotes = {REF_A}": [
        whole("infobox", "Area total: 5 km", A)
    ],
    f"| mayor = Ann Hill\n| ref = {REF_A}": [whole("infobox", "Mayor: Ann Hill", A)],
    # Several values of a parameter.
    f"| crops = \n* wheat{REF_A}\n* oats {REF_B}": [
        ("infobox", "Crops: wheat, oats", "Crops: wheat", [A]),
        ("infobox", "Crops: wheat, oats", "oats", [B]),
    ],
    f"| crops = wheat<br />oats{REF_A}": [whole("infobox", "Crops: wheat, oats", A)],
    f"| crops = {{{{ubl|wheat{REF_A}|oats}}}}": [
        ("infobox", "Crops: wheat oats", "Crops: wheat", [A])
    ],
    # A sentence stands alone.
    f"| note = The mill burnt down in 1902.{REF_A}": [
        whole("infobox", "The mill burnt down in 1902.", A)
    ],
    f"| image_caption = The quay at night{REF_A}": [whole("caption", "The quay at night", A)],
    f"| module = {{{{Infobox port|berths=9{REF_A}}}}}": [whole("infobox", "Berths: 9", A)],
    f"| 1801 | 900 | 1901 | 1,200{REF_A}": [whole("infobox", "1901: 1,200", A)],
}


@pytest.mark.parametrize("parameters", BOXES)
def test_values_of_infoboxes_have_their_names(parameters):
    assert found(BOX.format(parameters)) == BOXES[parameters]


def test_a_mark_without_a_value_follows_the_sentence():
    page = f"The Tyne is a river.\n\n{{{{Weather box|source={REF_A}}}}}"
    assert found(page) == [whole("sentence", "The Tyne is a river.", A)]


TABLE = "Mills were many.\n{{| class=wikitable\n|+ Mills of the Tyne\n! Year !! Mill !! Sacks\n"
TABLES = {
    # A number is read with the heads of its row and its column.
    f"|-\n| 1402 || Old || 12{REF_A}": [whole("table", "Year: 1402; Sacks: 12", A)],
    f"|-\n! 1402\n| Old\n| 12{REF_A} || x": [whole("table", "Year: 1402; Sacks: 12", A)],
    # Another cell, with the cells since the mark before.
    f"|-\n| 1402 || Old mill{REF_A} || full{REF_B}": [
        whole("table", "Year: 1402; Mill: Old mill", A),
        whole("table", "Year: 1402; Sacks: full", B),
    ],
    # Marks of the head of the row, or in a column of their own, cover the row.
    f"|-\n| 1402{REF_A} || Old || 12": [whole("table", "Year: 1402; Mill: Old; Sacks: 12", A)],
    f"|-\n| 1402 || Old || 12 || {REF_A}": [whole("table", "Year: 1402; Mill: Old; Sacks: 12", A)],
    f"|-\n| 1402 || Old || 12 || [{A}]": [whole("table", "Year: 1402; Mill: Old; Sacks: 12", A)],
    # Cells that span rows and columns, and attributes.
    f"|-\n| rowspan=2 | 1402 || Old || 12\n|-\n| style='x' | New || 9{REF_A}": [
        whole("table", "Year: 1402; Sacks: 9", A)
    ],
    f"|-\n| 1402 || colspan=2 | unknown to [[Hill|Hill's]] list{REF_A}": [
        whole("table", "Year: 1402; Mill, Sacks: unknown to Hill's list", A)
    ],
    f"|-\n| 1402\n| Old\nand [[mill|milled]]\n| 12{REF_A}": [
        whole("table", "Year: 1402; Sacks: 12", A)
    ],
    # Sentences in a cell stand alone.
    f"|-\n| 1402 || Old || It burnt down in May.{REF_A} It was rebuilt.{REF_B}": [
        whole("table", "It burnt down in May.", A),
        whole("table", "It was rebuilt.", B),
    ],
    f"! Owner (2001){REF_A}\n|-\n| 1402 || Old || 1": [whole("table", "Owner (2001)", A)],
}


@pytest.mark.parametrize("rows", TABLES)
def test_cells_have_the_heads_of_their_row_and_column(rows):
    page = f"{TABLE.format()}{rows}\n|}}\nThe last mill closed."
    assert found(page) == TABLES[rows]


def test_cells_of_sentences_have_their_heads_as_headings():
    page = f"{TABLE.format()}|-\n| 1402 || Old || It burnt down in May.{REF_A}\n|}}"
    (claim,) = extract_claims(page, "Tyne", format="wikitext")
    assert claim.section == ("Mills of the Tyne", "1402", "Sacks")
    assert (claim.before, claim.after) == ("Mills were many.", "")
    assert claim.id == "Tyne:table1:1"


def test_tables_are_no_context_of_sentences():
    page = f"It rained.\n{TABLE.format()}|-\n| 1402 || 12{REF_A}\n|}}\nIt flooded.{REF_B}"
    _, claim = extract_claims(page, "Tyne", format="wikitext")
    assert (claim.id, claim.before) == ("Tyne:2:1", "It rained. Mills were many.")


def test_tables_in_html_within_wikitext():
    page = (
        f"<table><tr><th>Year</th><th>Sacks</th></tr><tr><td>1402</td><td>12{REF_A}</td></tr>"
        f"</table>It rained.{REF_B}"
    )
    assert found(page) == [
        whole("table", "Year: 1402; Sacks: 12", A),
        whole("sentence", "It rained.", B),
    ]


PLACES = {
    f"[[File:Q.jpg|thumb|left|The [[quay]] in 1902{REF_A}]]": [
        whole("caption", "The quay in 1902", A)
    ],
    f"<gallery>\nFile:Q.jpg|The quay{REF_A}\nFile:R.jpg|The mill<br>in May{REF_B}\n</gallery>": [
        whole("caption", "The quay", A),
        whole("caption", "The mill in May", B),
    ],
    f"{{{{multiple image|image1=Q.jpg|caption1=The quay{REF_A}|image2=R.jpg}}}}": [
        whole("caption", "The quay", A)
    ],
    f"== Weather{REF_A} ==\nIt rained.": [whole("heading", "Weather", A)],
    f"It rained.{{{{efn|It snowed in the hills.{REF_A}}}}}": [
        whole("note", "It snowed in the hills.", A)
    ],
    f"It rained.<ref group=note>It snowed.{{{{sfn|Hill|2003}}}}</ref>\n"
    f"* {{{{cite book|last=Hill|year=2003|url={A}}}}}": [whole("note", "It snowed.", A)],
    f"{{{{quote|The water came at night.{REF_A}|A witness}}}}": [
        whole("sentence", "The water came at night.", A)
    ],
    f"{{{{cquote|The water came at night.|author=A witness{REF_A}}}}}": [
        whole("sentence", "The water came at night.", A)
    ],
    f"{{{{Zitat|Das Wasser kam nachts.|Autor=Hill|ref={REF_A}}}}}": [
        whole("sentence", "Das Wasser kam nachts.", A)
    ],
    f"{{{{rquote|right|The water came at night.|Hill{REF_A}}}}}": [
        whole("sentence", "The water came at night.", A)
    ],
    f"{{{{quote box|quote=The water came at night.|source=Hill{REF_A}}}}}": [
        whole("sentence", "The water came at night.", A)
    ],
    f"<blockquote>The water came at night.{REF_A}</blockquote>": [
        whole("sentence", "The water came at night.", A)
    ],
    f"* Flood of 1953{REF_A}": [whole("list", "Flood of 1953", A)],
}


@pytest.mark.parametrize("page", PLACES)
def test_other_places(page):
    assert found(page) == PLACES[page]


def test_items_of_lists_can_be_left_out():
    assert found(f"* Flood of 1953{REF_A}\n* It rained for three days.{REF_B}", lists=False) == [
        whole("sentence", "It rained for three days.", B)
    ]


HTML = """<div class="mw-parser-output">
<table class="infobox"><caption>Tyne{m1}</caption><tr><th>Mouth</th><td>Tynemouth{m2}</td></tr>
<tr><th colspan="2">Population{m1}</th></tr><tr><th>• Town</th><td>1,200</td></tr>
<tr><td>Schmelzpunkt</td><td>5 °C{m2}</td></tr></table>
<p>Mills were many.</p>
<table class="wikitable"><caption>Mills</caption><thead><tr><th>Year</th><th>Sacks</th></tr></thead>
<tbody><tr><th rowspan="2">1402</th><td>12{m1}</td></tr><tr><td>9<table><tr><td>in</td><td>May{m2}
</td></tr></table></td></tr></tbody></table>
<h2>Weather{m1}<span class="mw-editsection">[edit]</span></h2>
<div class="thumb"><div class="thumbcaption">The quay{m2}</div></div>
<ul class="gallery"><li><div class="gallerytext">The mill{m1}</div></li></ul>
<p>It rained.<sup class="reference"><a href="#cite_note-n">[note 1]</a></sup></p>
<ol class="references"><li id="cite_note-1"><a class="external" href="https://a.example/1">Ay</a>
</li><li id="cite_note-2"><a class="external" href="https://b.example/2">Bee</a></li>
<li id="cite_note-n"><span class="mw-cite-backlink">^</span> It snowed in the hills.{m1}</li></ol>
</div>"""
MARKS = {
    f"m{n}": f'<sup class="reference"><a href="#cite_note-{n}">[{n}]</a></sup>' for n in (1, 2)
}


def test_all_places_in_html():
    claims = extract_claims(HTML.format(**MARKS), "Tyne", format="html")
    assert [(each.kind, each.claim, each.citations[0].url) for each in claims] == [
        ("caption", "Tyne", A),
        ("infobox", "Mouth: Tynemouth", B),
        ("infobox", "Population; • Town: 1,200; Schmelzpunkt: 5 °C", A),
        ("infobox", "Schmelzpunkt: 5 °C", B),
        ("table", "in; May", B),
        ("table", "Year: 1402; Sacks: 12", A),
        ("heading", "Weather", A),
        ("caption", "The quay", B),
        ("caption", "The mill", A),
        ("note", "It snowed in the hills.", A),
    ]
    assert claims[5].section == ("Mills",)
