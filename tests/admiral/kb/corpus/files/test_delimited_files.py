"""CSV and TSV files: rows as sentences, whatever their delimiter, encoding and quotation marks."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from admiral.kb.corpus.files import TextBuilder
from admiral.kb.corpus.files.delimited_files import read_csv, read_tsv
from tests.admiral.kb.corpus.files.test_file_formats import extract


def rows(read, data):
    return [text for _, text in extract(read, data)[1]]


LAMPS = ["Lamp: Eddy; Height: 41.", "Lamp: Bell; Height: 35."]


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_delimiters_encodings_and_line_ends(delimiter, encoding, line_end):
    cells = [["Lamp", "Height"], ["Eddy", "41"], ["Böll", "35"]]
    source = line_end.join(delimiter.join(row) for row in cells)
    assert rows(read_csv, source.encode(encoding)) == [LAMPS[0], "Lamp: Böll; Height: 35."]


def test_delimiters_in_values():
    assert rows(read_csv, "Lamp;Mass\nEddy;1,5\nBell;2,5\n") == [
        "Lamp: Eddy; Mass: 1,5.",
        "Lamp: Bell; Mass: 2,5.",
    ]
    assert rows(read_csv, "sep=,\r\nLamp,Note\r\nEddy,a;b;c\r\n") == ["Lamp: Eddy; Note: a;b;c."]
    assert rows(read_csv, 'Lamp,"Of, in"\n"Eddy ""E""","white,\nblue"\n') == [
        'Lamp: Eddy "E"; Of, in: white, blue.'
    ]
    assert rows(read_tsv, "Lamp\tNote\nEddy\ta, b\nBell\tc, d\n")[1] == "Lamp: Bell; Note: c, d."
    assert rows(read_tsv, "Lamp,Note\nEddy,a\n") == ["Lamp: Eddy; Note: a."]


def test_a_row_is_one_sentence_unless_it_is_long():
    note = "It is white. It was built by Ida Penn."
    assert rows(read_csv, f"Lamp,Note,Height\nEddy,{note},41\n") == [
        f"Lamp: Eddy; Note: {note}; Height: 41."
    ]
    found = rows(read_csv, f"Lamp,Note,Height\nEddy,{note * 20},41\n")
    assert found[0] == "Lamp: Eddy; Note: It is white."
    assert len(found) > 20


def test_a_mark_that_nothing_closes_hides_no_rows():
    many = [f"pipe {n}\t{n}" for n in range(50)]
    found = rows(read_tsv, "\n".join(["Name\tSize", '"5 inch\t9', *many]))
    assert found[0] == 'Name: "5 inch; Size: 9.'
    assert found[-1] == "Name: pipe 49; Size: 49."
    assert len(found) == 51
    cut = 'Name,Note\n"Eddy","a, b"\n"Bell","c, d'  # a file that is cut off
    assert rows(read_csv, cut) == ["Name: Eddy; Note: a, b.", "Name: Bell; Note: c, d."]


def test_empty_rows_and_columns():
    source = ",,,\n,Lamp,,Height\n,,,\n,Eddy,,41\n,,,\n,Bell,,35\n"
    assert rows(read_csv, source) == LAMPS
    assert rows(read_csv, ",,\n;\n") == []


def test_titles_remarks_and_several_tables():
    titles, sentences = extract(
        read_csv,
        "Lamps of the coast\nIn metres\n\nLamp,2019,2020\nEddy,41,42\nBell,35,36\n\n"
        "Source: a count.\n\nKeepers\nName,Age\nIda,63\nBob,n/a\n\nEve,5\n",
    )
    assert titles == ["Lamps of the coast"]
    assert sentences == [
        ("Lamps of the coast", "In metres"),
        ("Lamps of the coast", "Lamp: Eddy; 2019: 41; 2020: 42."),
        ("Lamps of the coast", "Lamp: Bell; 2019: 35; 2020: 36."),
        ("Lamps of the coast", "Source: a count."),
        ("Keepers", "Name: Ida; Age: 63."),
        ("Keepers", "Name: Bob; Age: n/a."),
        ("Keepers", "Name: Eve; Age: 5."),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "Height,41 m\nBuilt,1882\nKeeper,Ida\n",
            ["Height: 41 m.", "Built: 1882.", "Keeper: Ida."],
        ),
        ("Keeper:,Ida\nTown:,Eddy\n", ["Keeper: Ida.", "Town: Eddy."]),
        (",Height,41 m\n,Keeper,Ida\n", ["Height: 41 m.", "Keeper: Ida."]),
        ("Eddy\nBell\nAnnet\n", ["Eddy", "Bell", "Annet"]),
        ("1,2\n3,4\n", ["1; 2.", "3; 4."]),
        ("Eddy,1882,41\nBell,1811,35\n", ["Eddy; 1882; 41.", "Bell; 1811; 35."]),
        ("Eddy,1882,1990\nBell,1811,1988\n", ["Eddy; 1882; 1990.", "Bell; 1811; 1988."]),
        ("Lamp,Note\nEddy,\n", ["Lamp: Eddy."]),
        ("Lamp,Height\n", ["Lamp; Height."]),
    ],
)
def test_heads_of_columns(source, expected):
    assert rows(read_csv, source) == expected


WORDS = st.text("abcXYZ ,;\"\t|\n'é", max_size=8)


@given(
    st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=30),
    st.sampled_from(",;\t|"),
)
@example([["", ";", ";"]] * 2, "\t")
def test_no_value_is_lost(cells, delimiter):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["Lamp", "Height", "Keeper"])
    writer.writerows([f"{value}{number}" for value in row] for number, row in enumerate(cells))
    text = TextBuilder()
    read_csv(file.getvalue().encode(), text)
    found = [sentence.text for sentence in text.sentences()]
    assert len(found) == len(cells)
    for number, (row, sentence) in enumerate(zip(cells, found, strict=True)):
        for name, value in zip(("Lamp", "Height", "Keeper"), row, strict=True):
            assert f"{name}: {' '.join(f'{value}{number}'.split())}" in sentence
