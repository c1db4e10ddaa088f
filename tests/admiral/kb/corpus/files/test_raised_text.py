"""Raised and lowered text is written on the line, and digits never join."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.files import (
    LOWERED,
    LOWERED_END,
    RAISED,
    RAISED_END,
    is_note_mark,
    on_one_line,
)

TAGS = {"<sup>": RAISED, "</sup>": RAISED_END, "<sub>": LOWERED, "</sub>": LOWERED_END}


def written(html):
    return on_one_line(re.sub("|".join(TAGS), lambda match: TAGS[match[0]], html))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("4 × 10<sup>8</sup> bees", "4 × 10^8 bees"),
        ("10<sup>−9</sup> m", "10^−9 m"),
        ("10<sup>3</sup>0", "10^3 0"),
        ("2<sup>3<sup>4</sup></sup>", "2^(3^4)"),
        ("40 km<sup>2</sup>.", "40 km^2."),
        ("3 yards<sup>3</sup>", "3 yards^3"),
        ("k<sup>n+1</sup>", "k^(n+1)"),
        ("the 3<sup>rd</sup> of M<sup>me</sup> Roux", "the 3rd of Mme Roux"),
        ("30<sup>o</sup> C", "30° C"),
        ("Glow<sup>TM</sup> lamps", "Glow™ lamps"),
        ("<sup>60</sup>Co", "60Co"),
        ("Cl<sup>−</sup> and Mg<sup>2+</sup>", "Cl− and Mg^2+"),
        ("Fe<sub>2</sub>O<sub>3</sub>", "Fe2O3"),
        ("SO<sub>4</sub><sup>2−</sup>", "SO4^2−"),
        ("101<sub>2</sub>", "101_2"),
        ("T<sub>min</sub>", "T_min"),
        ("7<sup>3</sup>⁄<sub>8</sub> in", "7 3/8 in"),
        ("<sup>1</sup>/<sub>3</sub> cup", "1/3 cup"),
        ("lit in 1897<sup>4</sup> and", "lit in 1897 and"),
        ("the lamp<sup>4</sup> is", "the lamp is"),
        ("the lamp.<sup>4, 5</sup> It", "the lamp. It"),
        ("the lamp<sup>[note 2]</sup><sup>*</sup> is", "the lamp is"),
        ("<sup>4</sup> See the log.", " See the log."),
        ("10<sup>8", "10^8"),
        ("a<sup></sup>b", "ab"),
    ],
)
def test_scripts(html, text):
    assert written(html) == text


def test_marks_of_notes():
    assert all(map(is_note_mark, ["1", "[12]", "(3)", "a", "[b]", "*", "††", "note 4", "[nb 2]"]))
    assert not any(map(is_note_mark, ["", "map", "12345", "see the log", "1897-1899 and on"]))


PIECES = st.lists(st.sampled_from([*TAGS, "1", "23", "a", "Word", " ", ".", "/", "⁄", "[", "]"]))


@given(PIECES)
def test_no_number_grows(pieces):
    """Every number of the text was one before, or part of one within one element."""
    html = "".join(pieces)
    text = written(html)
    assert not set(text) & set(TAGS.values())
    before = set(re.findall(r"\d+", re.sub("<[^>]*>", "|", html)))
    assert set(re.findall(r"\d+", text)) <= before
