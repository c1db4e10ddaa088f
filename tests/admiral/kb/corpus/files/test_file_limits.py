"""Limits of time and size for each file of a folder: one line each, and the others are read."""

import json
import shutil
from pathlib import Path

import pytest

from admiral.cli.main import main
from admiral.errors import AdmiralError
from admiral.io.limited_reading import OVER_SIZE, OVER_TIME, FileLimits
from admiral.kb import KnowledgeBase, add, build
from admiral.sources.source_files import SourceFiles

LIMITS = FileLimits(seconds=0.6)
SLOW = "<h1>Slow</h1>" + "<p>The seventh harbour was opened by the mayor.</p>" * 150_000
PARAGRAPHS = "<p>The harbour of Ashcombe was opened in 1911 by the mayor of the town.</p>"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# Ashcombe\n\nAshcombe has a harbour.\n")
    (folder / "slow.html").write_text(SLOW)
    (folder / "z.md").write_text("# Zennor\n\nZennor lies by the sea.\n")
    return folder


def outcomes(report):
    lines = map(json.loads, report.read_text().splitlines())
    return {Path(line["path"]).name: line["skipped"] for line in lines}


def test_a_slow_file_is_a_line_and_the_others_are_read(folder, tmp_path, caplog):
    kb, report = tmp_path / "kb", tmp_path / "report.jsonl"
    built = build(folder, kb, bm25="none", limits=LIMITS, report=report, progress=False)
    assert built.skipped == {OVER_TIME: 1}
    assert outcomes(report) == {"a.md": None, "slow.html": OVER_TIME, "z.md": None}
    assert f"1 file was skipped: 1 {OVER_TIME}" in caplog.text
    assert "was not read within 0.6 seconds. Raise --file-seconds" in report.read_text()
    with KnowledgeBase.open(kb) as opened:
        assert list(opened.titles()) == ["Ashcombe", "Zennor"]
    with pytest.raises(AdmiralError, match=r"slow\.html:1: was not read within 0\.6 seconds"):
        build(folder, tmp_path / "strict", bm25="none", limits=LIMITS, strict=True, progress=False)
    # What was over the limit can be added later.
    added = add(folder / "slow.html", kb, progress=False)
    assert added.added == 1


def test_a_large_file_is_a_line(folder, tmp_path):
    arguments = ["index", folder, "--kb", tmp_path / "kb", "--bm25", "none", "--no-progress"]
    arguments += ["--file-megabytes", "2", "--report", tmp_path / "report.jsonl"]
    assert main(list(map(str, arguments))) == 0
    assert outcomes(tmp_path / "report.jsonl")["slow.html"] == OVER_SIZE
    more = ["add", folder, "--kb", tmp_path / "kb", "--on-duplicate", "replace", "--no-progress"]
    more += ["--file-seconds", "0.6", "--report", tmp_path / "added.jsonl"]
    assert main(list(map(str, more))) == 0
    assert outcomes(tmp_path / "added.jsonl")["slow.html"] == OVER_TIME


@pytest.mark.parametrize("form", ["html", "jsonl", "warc"])
def test_a_slow_source_has_no_text(form, tmp_path, caplog):
    url = "https://x.example/"
    slow = "".join(PARAGRAPHS.replace("1911", str(n)) for n in range(60_000))
    page = f"<html><body><article>{slow}</article></body></html>"
    fine = f"<html><body><article>{PARAGRAPHS * 3}</article></body></html>"
    pages = {f"{url}slow": page, f"{url}fine": fine}
    if form == "html":
        for name, text in pages.items():
            (tmp_path / f"{name.rpartition('/')[2]}.html").write_text(text)
    elif form == "jsonl":
        records = [{"url": name, "html": text} for name, text in pages.items()]
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    else:
        (tmp_path / "a.warc").write_bytes(b"".join(response(*each) for each in pages.items()))
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "a.html").write_text(fine)
    list(SourceFiles([tmp_path / "first"], base_url=url))  # the reader imports its parser
    shutil.rmtree(tmp_path / "first")
    files = SourceFiles([tmp_path], base_url=url, limits=FileLimits(seconds=1))
    texts = {source.url.removesuffix(".html"): source.text for source in files}
    assert texts[f"{url}slow"] == ""
    assert "Ashcombe" in texts[f"{url}fine"]
    assert "was not read within 1 seconds (--file-seconds); its source has no text" in caplog.text


def response(url, page):
    """Return a record of a web archive."""
    content = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def test_a_large_source_names_the_option(tmp_path, caplog):
    (tmp_path / "a.html").write_text(PARAGRAPHS * 20_000)
    files = SourceFiles([tmp_path], base_url="https://x.example", limits=FileLimits(megabytes=1))
    assert [source.text for source in files] == [""]
    assert "a.html: larger than --file-megabytes; its source has no text" in caplog.text
