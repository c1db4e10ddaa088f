import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.text_cleaning import (
    clean_document,
    clean_prefix,
    clean_text,
    clean_title,
    wikipedia_title,
    without_markup,
)
from admiral.records import Document

ANY_TEXT = st.text(st.characters(), max_size=40)  # surrogates and NUL included


@given(ANY_TEXT)
def test_cleaning_is_idempotent_and_its_result_can_be_stored(text):
    for clean in (clean_text, clean_title):
        cleaned = clean(text)
        cleaned.encode("utf-8")
        assert "\0" not in cleaned
        assert clean(cleaned) == cleaned


@given(ANY_TEXT, st.integers(0, 40))
def test_a_cleaned_prefix_is_a_prefix_of_the_cleaned_title(text, length):
    title = clean_title(text)
    assert clean_prefix(title[:length]) == title[:length]
    assert clean_prefix(" \t" + text).rstrip() == title


def test_white_space_at_the_end_of_a_prefix_is_kept():
    assert clean_prefix("\tNew\r\n") == "New "


def test_empty_sentences_are_kept_and_empty_links_removed():
    document = clean_document(Document("T", ("", " x "), ((), ("",))))
    assert document == Document("T", ("", "x"), ())


def test_links_must_match_the_sentences():
    with pytest.raises(ValueError, match="1 rows of links for 2 sentences"):
        clean_document(Document("T", ("a", "b"), (("x",),)))


@pytest.mark.parametrize(
    ("href", "title"),
    [
        ("political%20philosophy", "Political philosophy"),
        ("The_Goon_Show#Cast", "The Goon Show"),
        ("https%3A//example.org", ""),
        ("#only-a-section", ""),
        ("", ""),
        ("%C3%89ire", "Éire"),
    ],
)
def test_wikipedia_title(href, title):
    assert wikipedia_title(href) == title


@pytest.mark.parametrize(
    ("marked", "plain", "titles"),
    [
        ("A [[great_tit#Song|tit]] in [[Paris]].", "A tit in Paris.", ("Great tit", "Paris")),
        ("Dušan ([[Serbian|[dǔʃan]]), a king", "Dušan ([dǔʃan), a king", ("Serbian",)),
        ("Dušan ([[Serbian|[dǔʃan]]]), a king", "Dušan ([dǔʃan]), a king", ("Serbian",)),
        ("[[a|]] [[b", "a [[b", ("A",)),
        ("[[a [[b|c]]", "[[a c", ("B",)),
    ],
)
def test_links_become_text(marked, plain, titles):
    assert without_markup(marked) == (plain, titles)


def test_unclosed_links_take_linear_time():
    began = time.process_time()
    without_markup("[[a|[" * 50_000)
    assert time.process_time() - began < 5  # quadratic time takes more than a minute
