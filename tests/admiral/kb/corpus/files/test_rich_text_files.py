"""RTF: encodings, styles, tables, notes and what is hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.files.rich_text_files import read_rtf
from tests.admiral.kb.corpus.files.test_file_formats import extract

HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\froman Times;}{\f1\fcharset204 Arial Cyr;}"
    r"{\f2\fcharset128 MS Mincho;}}{\colortbl;\red0\green0\blue0;}"
    r"{\stylesheet{Normal;}{\s1\outlinelevel0 heading 1;}{\s2\sbasedon1 Own;}{\s5 Title;}"
    r"{\*\cs10 Default;}}{\info{\title The lamps}{\author Ida}}{\header Page \chpgn}"
)


def texts(body):
    return [text for _, text in extract(read_rtf, HEAD + body + "}")[1]]


def test_headings_and_the_title():
    body = r"\pard\s5 On lamps\par\pard\s1 Fuel\par\pard\plain It burns oil.\par\pard\s2 Use\par"
    titles, sentences = extract(read_rtf, HEAD + body + r"\pard It is used.}")
    assert titles == ["The lamps", "On lamps"]
    assert sentences == [("Fuel", "It burns oil."), ("Use", "It is used.")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"Caf\'e9 \u8217?s \u55357?\u56832? na\u239\'efve\~x \emdash\_a\-b \{c\}.",
         ["Café ’s \U0001f600 naïve x —-ab {c}."]),
        (r"{\f1 \'cf\'f0\'e8\'e2\'e5\'f2} {\f2\'93\'fa\'96\'7b}.", ["Привет 日本."]),
        (r"{\uc2\u945 ab\u946\'61\'62}\uc0\u947 .", ["αβγ."]),
        (r"About 10{\super 6} ml of H\sub 2\nosupersub O.", ["About 10^6 ml of H2O."]),
        (r"Seen{\v  hidden}{\deleted  gone}\v  too\v0 .", ["Seen."]),
        (r"A note{\super\chftn}{\footnote\pard\plain\chftn  By Ida.} here.\par Next.",
         ["A note here.", "By Ida.", "Next."]),
        (r"It burns:\par\pard{\listtext\'b7\tab}\ls1 Oil\par{\listtext\'b7\tab}Gas\par\pard End.",
         ["It burns: Oil; Gas.", "End."]),
        (r"{\field{\*\fldinst{TOC \\o}}{\fldrslt Fuel {\field{\*\fldinst HYPERLINK}{\fldrslt 4}}}}"
         r"See {\field{\*\fldinst HYPERLINK x}{\fldrslt the page}}.", ["See the page."]),
        (r"A {\pict\pngblip 8950{\*\x}4e}{\*\unknown no}{\object{\*\objdata 00}{\result sheet}}.",
         ["A sheet."]),
        (r"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard In a box.\par}}{\shprslt old}}Text.",
         ["Text.", "In a box."]),
        (r"{\upr{old}{\*\ud new}}\bin3 {\}text\line more.", ["newtext more."]),
        ("One\\\nTwo\\par Three\r\nfour.", ["One", "Two", "Threefour."]),
    ],
)  # fmt: skip
def test_what_is_shown(body, expected):
    assert texts(body) == expected


def test_tables():
    row = r"\trowd{}\cellx1{}\cellx2\pard\intbl {}\cell {}\cell\row"
    rows = [
        row.format("", "", "Lamp", "Height"),
        row.format(r"\clvmgf", "", "Eddy", r"41 m\par tall"),
        row.format(r"\clvmrg", "", "", "42 m"),
        row.format(r"\clmgf", r"\clmrg", "All are white.", ""),
    ]
    assert texts("".join(rows) + r"\pard After.\par") == [
        "Lamp: Eddy; Height: 41 m; tall.",
        "Lamp: Eddy; Height: 42 m.",
        "All are white.",
        "After.",
    ]
    assert texts("".join(rows[:2]) + " After.")[-1] == "After."


def test_a_file_that_is_cut_off_and_other_files():
    text = HEAD + r"\pard The lamp{\b  is {\i lit"
    assert extract(read_rtf, text)[1] == [("", "The lamp is lit")]
    with pytest.raises(ValueError, match="no RTF"):
        extract(read_rtf, b"PK\x03\x04")
    with pytest.raises(ValueError, match="groups"):
        extract(read_rtf, HEAD + "{" * 2000)


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4))
def test_any_text_comes_back(paragraphs):
    written = [" ".join(f"x{text}.".split()).replace("\u00ad", "") for text in paragraphs]
    units = [text.encode("utf-16-le") for text in written]
    body = r"\par ".join(
        "".join(
            rf"\u{int.from_bytes(unit[i : i + 2], 'little', signed=True)}?"
            for i in range(0, len(unit), 2)
        )
        for unit in units
    )
    assert " ".join(texts(body)).split() == " ".join(written).split()
