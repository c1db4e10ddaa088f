"""Sources of the web say what a reader of the page sees."""

import gzip
import io

import pytest

from admiral.errors import RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS
from admiral.sources.page_reading import PageReader, seen_page
from admiral.sources.source_files import SourceFiles

FILLER = (
    "The lighthouse of Orne was built by the people of the village, who carried the stones up the "
    "hill for two summers. It is open to visitors on most days, and he shows them the lamp, "
    "the log and the stairs, which are steep."
)
PAGE = f"""<html><head><title>Orne</title></head><body><h1>Orne</h1><p>{FILLER}</p>
<p>Its lamp gives 10<sup>5</sup> candles, as the keeper <del>said</del> wrote in the log of the year
1897<sup><a href="#n">1</a></sup>, and burns H<sub>2</sub>.</p><p hidden>It is closed.</p>
<table><tr><th>Day<th>Open</tr><tr><td>Monday<td><ul><li>9 to 11<li>2 to 5</ul></tr></table>
<p>{FILLER}</p></body></html>"""


def read_page(page, encoding=""):
    reader = PageReader(DEFAULT_LIMITS)
    return reader.source(io.BytesIO(page), "page.html", "a page", "https://x.example/", encoding)


def test_an_article_has_what_its_reader_sees():
    text = read_page(PAGE.encode()).text
    assert "Its lamp gives 10^5 candles, as the keeper wrote in the log of the year" in text
    assert "1897, and burns H2." in text
    assert "Day: Monday; Open: 9 to 11, 2 to 5." in text
    assert "closed" not in text


def test_a_page_keeps_its_metadata_and_its_layout():
    page = (
        '<head><link rel=canonical href="https://x.example/"></head><body>'
        '<script type="application/ld+json">{}</script>'
        "<table role=presentation><tr><td>A<sup>2</sup>\ufdd70\ufdd7</table>"
    )
    seen = seen_page(page)
    assert "canonical" in seen
    assert "ld+json" in seen
    assert "<td>A^2 0</td>" in seen
    assert read_page(("<div>" * 50_000).encode()).text == ""


@pytest.mark.parametrize(
    ("header", "codec"), [("text/html; charset=windows-1251", "cp1251"), ("text/html", "utf-8")]
)
def test_the_server_names_the_encoding_of_a_page(header, codec):
    page = PAGE.replace("Orne", "Орн").encode(codec, "replace")
    encoding = header.partition("charset=")[2]
    assert "The lighthouse of Орн" in read_page(page, encoding).text


def test_a_damaged_file_of_a_folder_can_be_skipped(tmp_path):
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(PAGE.encode())[:-20])
    (tmp_path / "b.txt").write_bytes("Élan.".encode("cp1252"))
    files = SourceFiles([tmp_path], base_url="https://x.example", skip_bad=True)
    assert [source.text for source in files] == ["Élan."]
    assert files.bad == 1
    with pytest.raises(RecordError, match=r"a\.html\.gz: the compressed file is damaged"):
        list(SourceFiles([tmp_path], base_url="https://x.example"))
