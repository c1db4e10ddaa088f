"""Sources of the web say what a reader of the page sees."""

import gzip

import pytest

from admiral.errors import RecordError
from admiral.library.readers import SourceFiles
from admiral.library.readers.web_files import html_source, seen_page

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


def test_an_article_has_what_its_reader_sees():
    text = html_source(PAGE.encode(), "https://x.example/").text
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
    assert html_source(("<div>" * 50_000).encode()).text == ""


@pytest.mark.parametrize(
    ("header", "codec"), [("text/html; charset=windows-1251", "cp1251"), ("text/html", "utf-8")]
)
def test_the_server_names_the_encoding_of_a_page(header, codec):
    page = PAGE.replace("Orne", "Орн").encode(codec, "replace")
    encoding = header.partition("charset=")[2]
    assert "The lighthouse of Орн" in html_source(page, "https://x.example/", encoding).text


def response(url, body, kind):
    http = b"HTTP/1.1 200 OK\r\nContent-Type: " + kind.encode() + b"\r\n\r\n" + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: "
        "2024-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Type: "
        f"application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def test_an_archive_that_is_cut_off_keeps_the_pages_before(tmp_path):
    first = response("https://x.example/a", "Café".encode("cp1252"), "text/plain; charset=latin1")
    second = response("https://x.example/b", FILLER.encode(), "text/plain")
    for name, data in {
        "a.warc": first + second[:-99],
        "b.warc.gz": gzip.compress(first) + gzip.compress(second)[:-40],
    }.items():
        (tmp_path / name).write_bytes(data)
        files = SourceFiles([tmp_path / name], skip_bad=True)
        assert [source.text for source in files] == ["Café"]
        assert files.bad == 1
        with pytest.raises(RecordError, match=r"damaged, or not a WARC file.*Fetch it again"):
            list(SourceFiles([tmp_path / name]))


def test_a_damaged_file_of_a_folder_can_be_skipped(tmp_path):
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(PAGE.encode())[:-20])
    (tmp_path / "b.txt").write_bytes("Élan.".encode("cp1252"))
    files = SourceFiles([tmp_path], base_url="https://x.example", skip_bad=True)
    assert [source.text for source in files] == ["Élan."]
    assert files.bad == 1
    with pytest.raises(RecordError, match=r"a\.html\.gz: the compressed file is damaged"):
        list(SourceFiles([tmp_path], base_url="https://x.example"))
