"""Readers of sources: JSON Lines, WiCE, WAFER, HTML, WARC, text and documents."""

import gzip
import io
import json
import logging
import re

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import FileLimits
from admiral.sources import Source
from admiral.sources.page_reading import PageReader
from admiral.sources.source_files import SourceFiles
from admiral.sources.source_indexing import add_sources, build_sources
from tests.admiral.kb.corpus.files.test_file_formats import pdf

SENTENCE = "The tower of the town was built in 1889 by an engineer and stands by the river."
PAGE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>A tall tower</title><link rel="canonical" href="https://towers.example/eiffel">
<meta property="og:site_name" content="Towers"><script>alert("x")</script></head>
<body><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav><article><h1>A tall tower</h1>
{"".join(f"<p>{SENTENCE} It has {n} floors.</p>" for n in range(12))}</article></body></html>"""


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(*paths, **options):
    return list(SourceFiles(paths, **options))


def test_pages_of_json_lines(tmp_path):
    path = lines(
        tmp_path / "sources.jsonl",
        {"url": "https://x.example/a", "title": "A", "text": "Text.", "site": "X", "date": "2019"},
        {"url": "https://x.example/b", "sentences": ["One.", "Two."], "language": "en"},
        {"url": "https://x.example/c", "html": PAGE, "title": "Mine", "archive_url": None},
    )
    first, second, third = read(path)
    assert first == Source("https://x.example/a", "A", "Text.", "X", "2019")
    assert second == Source("https://x.example/b", "", "One.\nTwo.", language="en")
    assert (third.url, third.title, third.site) == ("https://x.example/c", "Mine", "Towers")
    assert third.text.count(SENTENCE) == 12
    with gzip.open(tmp_path / "packed.jsonl.gz", "wb") as file:
        file.write(path.read_bytes())
    assert read(tmp_path / "packed.jsonl.gz") == [first, second, third]


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"title": "A", "text": "B"}, "url"),
        ({"url": "javascript:alert(1)", "text": "B"}, "url"),
        ({"url": ["x.example"], "text": "B"}, "url"),
        ({"url": "x.example"}, "text"),
        ({"url": "x.example", "text": "B", "html": "C"}, "text"),
        ({"url": "x.example", "text": 7}, "text"),
        ({"url": "x.example", "sentences": "B"}, "sentences"),
        ({"url": "x.example", "text": "B", "title": {}}, "title"),
        ({"evidence": ["B"], "meta": {}}, "meta.id"),
        ({"output": [{"provenance": "x"}]}, "output[0].provenance"),
    ],
)
def test_bad_records_are_named_or_skipped(record, field, tmp_path):
    good = {"url": "https://x.example/", "text": "Text."}
    path = lines(tmp_path / "sources.jsonl", good, record)
    with pytest.raises(RecordError, match=re.escape(f"sources.jsonl:2: field '{field}'")):
        read(path)
    files = SourceFiles([path], skip_bad=True)
    assert [source.url for source in files] == ["https://x.example/"]
    assert files.bad == 1


def test_a_known_url_is_refused_with_its_line_and_empty_sources_are_named(tmp_path, caplog):
    empty = {"url": "https://x.example/b", "text": " "}
    path = lines(tmp_path / "a.jsonl", {"url": "https://x.example/a", "text": "Text."}, empty)
    build_sources(SourceFiles([path]), tmp_path / "kb")
    assert caplog.messages == ["1 sources have no text: https://x.example/b"]
    with pytest.raises(RecordError, match=r"a\.jsonl:1: field 'id': .*x\.example/a' is in the kn"):
        add_sources(SourceFiles([path]), tmp_path / "kb", on_duplicate="error")
    lines(path)
    with pytest.raises(AdmiralError, match=r"a\.jsonl: no sources in it\. Write records such"):
        build_sources(SourceFiles([path]), tmp_path / "other")


def test_cited_pages_of_wice(tmp_path):
    evidence = [
        *("(meta data) TITLE: A page", "(meta data) PUBLISHER: Somebody", "# Head", "One line."),
        *("Another (meta data) line.",),
    ]
    record = {"claim": "It is.", "evidence": evidence, "meta": {"id": "dev00012"}}
    part = {**record, "meta": {"id": "dev00012-3"}}
    first, second = read(lines(tmp_path / "wice.jsonl", record, part))
    assert first == second
    assert first == Source(
        "wice:dev00012", "A page", "Head\nOne line.\nAnother (meta data) line.", site="Somebody"
    )


def test_cited_pages_of_wafer(tmp_path):
    def passage(url, text):
        return {"url": url, "chunk_id": "0", "title": "Of " + url, "text": text}

    path = lines(
        tmp_path / "wafer.jsonl",
        {"id": "1", "output": [{"answer": "x", "provenance": [passage("x.example/a", "One.")]}]},
        {"id": "2", "output": [{"answer": "Failed verification"}]},
        {
            "id": "3",
            "output": [
                {
                    "provenance": [
                        passage("http://www.x.example/a/", "Two."),
                        passage("x.example/a", "One."),
                        passage("x.example/b", ""),
                    ]
                }
            ],
        },
    )
    assert read(path) == [
        Source("x.example/a", "Of x.example/a", "One.\nTwo."),
        Source("x.example/b", "Of x.example/b", ""),
    ]


def test_html_pages_name_their_url_or_get_one(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "named.html").write_text(PAGE)
    (tmp_path / "plain.html").write_text(PAGE.replace('rel="canonical"', 'rel="next"'))
    assert [source.url for source in read(tmp_path)] == [
        str(tmp_path / "plain.html"),
        "https://towers.example/eiffel",
    ]
    plain, named = read(tmp_path, base_url="https://mirror.example/pages/")
    assert plain.url == "https://mirror.example/pages/plain.html"
    assert named.url == "https://towers.example/eiffel"
    assert (named.title, named.site) == ("A tall tower", "Towers")
    assert named.text.count(SENTENCE) == 12
    assert "Shop" not in named.text
    assert "alert" not in named.text


def read_page(page):
    reader = PageReader(FileLimits(seconds=0))  # in this process
    return reader.source(io.BytesIO(page), "page.html", "a page", "http://x.example/")


def test_encodings_of_html_are_detected():
    page = f'<html><head><meta charset="iso-8859-1"></head><body><p>Café. {SENTENCE}</p></body>'
    assert "Café" in read_page(page.encode("latin-1")).text


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda t: f"<p>{t}".encode())))
def test_any_bytes_are_a_page(page):
    source = read_page(page)
    assert source.url == "http://x.example/"
    assert isinstance(source.text, str)


def archived(url, status, content_type, body):
    """Return a record of a web archive, compressed by itself, as all are in such files."""
    http = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n\r\n".encode() + body
    head = [
        *("WARC/1.0", "WARC-Type: response", f"WARC-Target-URI: {url}"),
        *("WARC-Record-ID: <urn:uuid:1>", "WARC-Date: 2019-08-02T00:00:00Z"),
        *("Content-Type: application/http; msgtype=response", f"Content-Length: {len(http)}"),
    ]
    return gzip.compress("\r\n".join([*head, "", ""]).encode() + http + b"\r\n\r\n")


def test_responses_of_a_web_archive(tmp_path, caplog):
    path = tmp_path / "crawl.warc.gz"
    records = [
        archived("http://x.example/a", "200 OK", "text/html; charset=utf-8", PAGE.encode()),
        archived("http://x.example/gone", "404 Not Found", "text/html", b"<p>Not found.</p>"),
        archived("http://x.example/image", "200 OK", "image/png", b"PNG"),
        archived("http://x.example/text", "200 OK", "text/plain", b"A title\n\nText \xff."),
    ]
    path.write_bytes(b"".join(records))
    page, text = read(path)
    assert (page.url, page.title) == ("http://x.example/a", "A tall tower")
    assert page.text.count(SENTENCE) == 12
    assert (text.url, text.title, text.date) == ("http://x.example/text", "A title", "2019-08-02")
    path.write_bytes(records[0][: len(records[0]) // 2])
    with pytest.raises(AdmiralError, match=r"crawl\.warc\.gz"):
        read(path)
    (tmp_path / "not.warc").write_text("no archive\n")
    with pytest.raises(AdmiralError, match="not a WARC file"):
        read(tmp_path / "not.warc")


@pytest.mark.parametrize("second", ["text/plain", "image/png"])
@pytest.mark.parametrize("decompress", [bytes, gzip.decompress])
def test_an_archive_that_is_cut_off_keeps_whole_pages_and_says_so(decompress, second, tmp_path):
    path = tmp_path / "crawl.warc"
    first = decompress(archived("http://x.example/a", "200 OK", "text/html", b"<p>A page."))
    last = decompress(archived("http://x.example/b", "200 OK", second, b"More text.")).rstrip()
    for size in (*range(0, len(last), 7), len(last) - 1):
        path.write_bytes(first + last[:size])
        files = SourceFiles([path], skip_bad=True)
        # In an archive that is compressed, the page may be whole where the file is not.
        assert [source.url for source in files][:1] == ["http://x.example/a"]
        assert files.bad == (size > 0), size


def test_text_files(tmp_path, caplog):
    path = tmp_path / "note.txt"
    path.write_text("\ufeffA title\n\nCafé.\n")
    (source,) = read(path, base_url="https://x.example")
    assert source == Source("https://x.example/note.txt", "A title", "A title\n\nCafé.")
    path.write_bytes(b"Caf\xe9")
    assert read(path, base_url="https://x.example")[0].text == "Café"
    path.write_bytes(b"\x80\x00\x01\x02" * 9)
    (source,) = read(path, base_url="https://x.example")
    assert source == Source("https://x.example/note.txt", "", "")
    assert "note.txt: no text in any encoding; its source has no text" in caplog.text


def test_documents(tmp_path, caplog):
    pages = pdf("The lamp burns oil. It is\nwhite.", "It was built in 1882.", title="The lamp")
    book = openpyxl.Workbook()
    for name, value in (("Lamps", "Eddy"), ("Towns", "Bell")):
        sheet = book.create_sheet(name)
        sheet.append(["Name", "Height"])
        sheet.append([value, 41])
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "lamp.pdf").write_bytes(pages)
    (folder / "bad.pdf").write_bytes(pages[:200])
    (folder / "secret.pdf").write_bytes(pdf("Secret.", password="x"))
    (folder / "page.html").write_text(PAGE)
    book.save(folder / "heights.xlsx")
    with caplog.at_level(logging.WARNING):
        found = read(folder, base_url="https://x.example/docs/")
    base = "https://x.example/docs"
    lamp = "The lamp burns oil. It is white.\nIt was built in 1882."
    heights = "Lamps\nName: Eddy; Height: 41.\nTowns\nName: Bell; Height: 41."
    assert found[:3] == [
        Source(f"{base}/bad.pdf", "", ""),
        Source(f"{base}/deep/lamp.pdf", "The lamp", lamp),
        Source(f"{base}/heights.xlsx", "heights", heights),
    ]
    assert found[4] == Source(f"{base}/secret.pdf", "", "")
    assert [line.partition(" (")[0].rpartition("/")[2] for line in caplog.messages] == [
        "bad.pdf: cannot be read as PDF",
        "secret.pdf: encrypted; its source has no text",
    ]
    caplog.clear()
    (folder / "notes.md").write_text("# Notes\n\nOil is dear.\n")
    with caplog.at_level(logging.WARNING):  # documents do not say where they are from
        urls = {source.url for source in read(folder)}
    own = {str(folder / name) for name in ("deep/lamp.pdf", "notes.md")}
    assert urls >= {*own, "https://towers.example/eiffel"}
    assert "5 files state no URL" in caplog.text


def test_text_in_parts(tmp_path):
    text = [{"heading": "Fuel", "text": ["One.", "Two."]}, {"Use": "Three."}]
    path = lines(tmp_path / "a.jsonl", {"url": "https://x.example/a", "text": text})
    assert read(path)[0].text == "Fuel\nOne.\nTwo.\nUse\nThree."
    path = lines(tmp_path / "a.jsonl", {"url": "https://x.example/a", "text": ["One.", 2]})
    with pytest.raises(RecordError, match=r"text\[1\]"):
        read(path)


def test_paths_are_checked(tmp_path):
    (tmp_path / "file.xyz").write_text("x")
    with pytest.raises(AdmiralError, match="no such file"):
        SourceFiles([tmp_path / "nowhere"])
    with pytest.raises(AdmiralError, match="of an unknown type"):
        SourceFiles([tmp_path / "file.xyz"])
    with pytest.raises(AdmiralError, match="no file of a known type"):
        SourceFiles([tmp_path])
    with pytest.raises(AdmiralError, match="base_url="):
        SourceFiles([tmp_path], base_url="javascript:alert(1)")
