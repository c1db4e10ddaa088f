"""Pages and texts are decoded as browsers and editors do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.text_encodings import charset_of, decode_page, decode_text

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
