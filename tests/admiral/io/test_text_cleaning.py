"""Text is decoded, cleaned and brought into the form in which it is compared."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.text_cleaning import (
    charset_of,
    clean_document,
    clean_prefix,
    clean_text,
    clean_title,
    decode_page,
    decode_text,
    matching_form,
    matching_form_with_offsets,
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


TEXTS = st.text(
    st.sampled_from("aé1 e\u0301⁶₂½ﬁ’–\u00ad\u200b\u2060ＡＢ'-´\ufe0fｶﾞ각ᄀ\u1161") | st.characters()
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("L’Été", "L'Été"),
        ("E\u0301te\u200b\u0301", "Été"),
        ("sea‐lion − 5–6", "sea-lion - 5-6"),
        ("co\u00adfﬁn \u2060ＡＢ１", "coffin AB1"),
        ("a\u00a0b", "a b"),
        ("10⁻⁶ m², 5½ and ½, 3₂", "10^-6 m2, 5 1⁄2 and 1⁄2, 3_2"),
    ],
)
def test_forms(text, form):
    assert matching_form(text) == form


@given(TEXTS)
def test_the_form_is_idempotent(text):
    form = matching_form(text)
    assert matching_form(form) == form


@given(TEXTS)
def test_offsets_ascend_and_lie_in_the_text(text):
    form, offsets = matching_form_with_offsets(text)
    assert len(offsets) == len(form) + 1
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(text)
    assert all(0 <= offset <= len(text) for offset in offsets)


@given(st.text(st.sampled_from("12⁶₂½ a"), max_size=12))
def test_raised_numbers_join_no_digits(text):
    longest = max(map(len, re.findall("[12]+|[⁶]+|[₂]+", text)), default=0)
    found = re.findall("[0-9]+", matching_form(text))
    assert max(map(len, found), default=0) <= max(longest, "½" in text)


FERRY = "“Élan”, the ferry – 3 €"


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("ISO-8859-1", "cp1252", FERRY),
        ("us-ascii", "cp1252", FERRY),
        ("latin1", "cp1252", FERRY),
        ("gb2312", "gbk", "喆 is a name"),
        ("GBK", "gb18030", "喆 is a name 𠮷"),
        ("shift_jis", "cp932", "① 髙橋"),
        ("euc-kr", "cp949", "똠방"),
        ("windows-1251", "cp1251", "Маяк"),
        ("koi8-r", "koi8-r", "Маяк"),
        ("utf-8", "utf-8", FERRY),
        ("utf-16", "utf-8", FERRY),  # what is read as ASCII is not
        ("no-such-label", "utf-8", FERRY),
    ],
)
def test_labels_mean_what_browsers_read(label, codec, text):
    for head in (
        f'<meta charset="{label}">',
        f"<META http-equiv=Content-Type content='text/html; charset={label}'>",
        f'<?xml version="1.0" encoding="{label}"?>',
        f'<!-- <meta charset="koi8-u"> --><meta charset={label}>',
    ):
        assert decode_page((head + text).encode(codec)) == head + text
    if not label.startswith(("utf-16", "no-such")):
        assert decode_page(text.encode(codec), label) == text


def test_a_byte_order_mark_is_above_the_server_and_the_server_above_the_page():
    page = '<meta charset="koi8-r">Маяк'
    assert decode_page(page.encode("cp1251"), "windows-1251") == page
    for codec in ("utf-8-sig", "utf-16"):
        assert decode_page(page.encode(codec), "windows-1251") == page
    assert decode_page(b"\xfe\xff" + page.encode("utf-16-be")) == page
    assert decode_page(page.encode("utf-16-le")) == page
    assert decode_page(page.encode("utf-16-be")) == page


@pytest.mark.parametrize(
    "codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_texts_that_declare_nothing(codec):
    assert decode_text(FERRY.encode(codec)) == FERRY
    assert decode_page(FERRY.encode(codec)) == FERRY


def test_a_text_put_together_of_two_encodings():
    assert decode_text("Café – ".encode() + "Élan".encode("cp1252")) == "Café – Élan"


def test_what_is_no_text_is_an_error():
    with pytest.raises(ValueError, match="no text"):
        decode_text(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 3)
    with pytest.raises(ValueError, match="convert it to UTF-8"):
        decode_text(("Маяк стоит на скале у моря. " * 3).encode("cp1251"))
    assert decode_text(b"") == ""


def test_the_charset_of_a_header():
    assert charset_of('text/html; Charset="Windows-1251"') == "Windows-1251"
    assert charset_of("text/html") == ""


@given(st.binary(max_size=300), st.sampled_from(["", "utf-16", "x-user-defined", "big5", "\ud800"]))
def test_every_page_can_be_decoded(data, label):
    decode_page(data, label)


@given(st.text(max_size=100))
def test_utf8_stays_as_it_is(text):
    data = text.encode("utf-8", "ignore")
    if b"\0" not in data:
        assert decode_text(data) == data.decode().removeprefix("\ufeff")
