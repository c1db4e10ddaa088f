"""Each row of a table is a sentence with the heads of its columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.files.extraction import TextBuilder
from admiral.kb.corpus.files.html_files import read_html
from admiral.kb.corpus.files.html_tables import TableRows

HEADS = "<tr><th>Lamp<th>Oil<th>Years</tr>"


def rows(table):
    text = TextBuilder()
    read_html(f"<table>{table}</table>".encode(), text)
    return [sentence.text for sentence in text.sentences()]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (HEADS + "<tr><td>A<td>palm<td>9", ["Lamp: A; Oil: palm; Years: 9."]),
        (HEADS + "<tr><td rowspan=2>A<td>palm<td>9<tr><td>rape<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Lamp: A; Oil: rape; Years: 8."]),
        (HEADS + "<tr><td>A<td colspan=2>none<tr><td>B<td>palm<td>7",
         ["Lamp: A; Oil, Years: none.", "Lamp: B; Oil: palm; Years: 7."]),
        (HEADS + "<tr><td>A<td rowspan=0>palm<td>9<tr><td>B<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Lamp: B; Oil: palm; Years: 8."]),
        (HEADS + "<tbody><tr><td rowspan=9>A<td>palm<td>9<tbody><tr><td>B<td>rape<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Lamp: B; Oil: rape; Years: 8."]),
        (HEADS + "<tr><td colspan=3>All are lit.", ["All are lit."]),
        (HEADS + "<tr><td>A<td>✗<td>–", ["Lamp: A; Oil: ✗; Years: –."]),
        ("<thead><tr><td>Lamp<td>Oil</thead><tr><td>A<td>palm", ["Lamp: A; Oil: palm."]),
        ("<tr><th rowspan=2>Lamp<th colspan=2>Oil<tr><th>1897<th>1898<tr><td>A<td>9<td>8",
         ["Lamp: A; Oil 1897: 9; Oil 1898: 8."]),
        ("<caption>Lamps of the coast</caption><tr><th>Lamp<th>Oil<tr><th>A<td>palm",
         ["Lamps of the coast", "Lamp: A; Oil: palm."]),
        ("<tr><th colspan=2>Facts<tr><th>Oil<td>palm<tr><th>Years:<td>9",
         ["Facts.", "Oil: palm.", "Years: 9."]),
        ("<tr><th>Oil<td>palm<th>Years<td>9", ["Oil: palm; Years: 9."]),
        ("<tr><td>A<td>palm", ["A; palm."]),
        ("<tr><th>A<th>B<tr><th>c<th>d", ["A; B.", "c; d."]),
        (HEADS + "<tr><td>A<td><ul><li>palm<li>rape</ul><td>9<br>to 10",
         ["Lamp: A; Oil: palm, rape; Years: 9 to 10."]),
        (HEADS + "<tr><td>A<td><dl><dt>palm<dd>dear</dl><td><p>9</p><p>10</p>",
         ["Lamp: A; Oil: palm: dear; Years: 9 10."]),
        (HEADS + "<tr><td>A<td><table><tr><th>Kind<td>palm</table><td>9",
         ["Lamp: A; Years: 9.", "Kind: palm."]),
        ("<tr><td>A long day.<td><table><tr><td>B<td>C</table>D", ["A long day.", "B; C.", "D"]),
        ("<tr><td><h2>Left</h2>One.<td>Two.", ["One.", "Two."]),
        (HEADS + "<tr><td>A<td>palm<td>9<tr><th>Ship<th>Crew<tr><td>B<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Ship: B; Crew: 8."]),
        (HEADS + "<tr><td>A<td colspan=x>palm<td rowspan='-1'>9",
         ["Lamp: A; Oil: palm; Years: 9."]),
        (HEADS + "<tr><td>10<sup>3</sup><td>a<sup>[1]</sup><td>b",
         ["Lamp: 10^3; Oil: a; Years: b."]),
    ],
)  # fmt: skip
def test_rows(table, expected):
    assert rows(table) == expected


CELLS = st.tuples(st.integers(1, 4), st.integers(1, 4))


@given(st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=5))
def test_no_cell_is_lost_and_none_is_repeated_in_a_row(shape):
    table, number = TableRows(), 0
    table.cell("head", is_head=True, columns=None, rows=None)
    assert table.end_row(in_head=False) == ""
    for cells in shape:
        own = []
        for width, height in cells:
            number += 1
            own.append(f"cell{number}x")
            table.cell(own[-1], is_head=False, columns=str(width), rows=str(height))
        sentence = table.end_row(in_head=False)
        assert all(sentence.count(text) == 1 for text in own)
        assert all(sentence.count(f"cell{n}x") <= 1 for n in range(number))
