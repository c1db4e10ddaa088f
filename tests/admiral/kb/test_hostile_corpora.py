"""Hostile and unusual corpora are stored or refused in bounded memory."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, check

ROOT = Path(__file__).parents[3]
FINE = {"title": "Fine", "text": "A fine document."}

ODD = [
    {"title": "NUL \0 in it", "text": "A\0b. C\0d."},
    {"title": "lone \ud800 surrogate", "sentences": ["x \udfff y"], "links": [["\udc00"]]},
    {"title": "\u202ethgir ot tfel\u202c", "text": "\u202eabc\u202c. \u200fשלום."},
    {"title": "שלום עולם", "text": "משפט בעברית. ועוד אחד."},
    {"title": "marks " + "\u0301" * 500, "text": "a" + "\u0301" * 100_000},
    {"title": "👩\u200d👩\u200d👧", "text": "A family."},
    {"title": "\ufffe \U0010ffff", "text": "No characters."},
    {"title": "../../etc/passwd", "text": "A path."},
    {"title": "--kb", "text": "An option."},
    {"title": "%s {0} ${HOME}", "text": "A template."},
    {"title": "dots", "text": "." * 300_000},
    {"title": "quotes", "text": '".' * 200_000},
    {"title": "ends", "text": "a. " * 100_000},
    {"title": "A. B.", "text": "A. " * 100_000},
    {"title": "lines", "text": "\n" * 300_000 + "x"},
    {"title": "spaces", "text": " " * 300_000 + "." + " " * 300_000},
    {"title": "one word", "text": "x" * 300_000},
    {"title": "empty", "sentences": [""] * 10_000},
]


def test_unusual_texts_are_stored_and_found(write_jsonl, tmp_path, tokens):
    corpus = write_jsonl(ODD)
    report = build(corpus, tmp_path / "kb", bm25="bm25s", progress=False)
    assert (report.documents, report.bad) == (len(ODD), 0)
    assert check(tmp_path / "kb") == []
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        for record in ODD:
            title = str(record["title"])
            document = kb.document(title)
            assert kb.row(document.title) == kb.row(title)
            document.title.encode()  # can be encoded
        assert kb.document("NUL \0 in it").title == "NUL \N{REPLACEMENT CHARACTER} in it"
        assert kb.document("lone \ud800 surrogate").sentences == ("x \ufffd y",)
        assert kb.search(["\0 \ud800 \u202e", "שלום", "x" * 300_000], 3)[1][0].title.startswith("ש")
        assert len(kb.title_trie(tokens)) == len(ODD)


def test_a_title_of_ten_million_characters(write_jsonl, tmp_path):
    corpus = write_jsonl([{"title": "x" * 10_000_000, "text": "a."}, FINE])
    with pytest.raises(
        AdmiralError, match=r"corpus\.jsonl:1: field 'title': 10000000 char"
    ) as raised:
        build(corpus, tmp_path / "kb", bm25="none", progress=False)
    assert len(str(raised.value)) < 1000
    report = build(corpus, tmp_path / "kb", bm25="none", skip_bad=True, progress=False)
    assert (report.documents, report.bad) == (1, 1)


@pytest.mark.slow
def test_a_document_of_a_million_sentences(write_jsonl, tmp_path):
    sentences = [f"Number {n} is here." for n in range(1_000_000)]
    corpus = write_jsonl([{"title": "Long", "sentences": sentences}, FINE])
    build(corpus, tmp_path / "kb", bm25="bm25s", progress=False)
    assert check(tmp_path / "kb") == []
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.document("Long").sentences[999_999] == "Number 999999 is here."
        assert [hit.title for hit in kb.search(["number 777"], 5)[0]] == ["Long"]


@contextmanager
def compressed(path):
    """Open a file for writing, compressed according to its suffix."""
    if path.suffix == ".zst":
        with path.open("wb") as raw, zstandard.ZstdCompressor().stream_writer(raw) as file:
            yield file
        return
    opener = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[path.suffix]
    options = {".gz": {"compresslevel": 1}, ".xz": {"preset": 0}}.get(path.suffix, {})
    with opener(path, "wb", **options) as file:
        yield file


# Build a corpus with limited memory in addition to that of the imports, and print the outcome.
BOMB = """
import resource, sys
from admiral.errors import AdmiralError
from admiral.kb import build
import pyarrow, marisa_trie
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[1]), taken + int(sys.argv[1])))
for skip in (False, True):
    try:
        report = build(
            sys.argv[2], sys.argv[3], bm25="none", skip_bad=skip, overwrite=True, progress=False
        )
        print(report.documents)
    except AdmiralError as error:
        print(error)
"""


def build_with_limited_memory(corpus, folder):
    """Build a corpus with 300 MB of memory, first strictly, then skipping bad records."""
    command = [sys.executable, "-c", BOMB, str(300 * 2**20), str(corpus), str(folder / "kb")]
    # Arrow's own pool reserves 1 GB of address space, which would count towards the limit.
    surroundings = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=surroundings)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


LINE, LINES = b"a" * 1024, b" " * 1023 + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize("filling", [LINE, LINES], ids=["line", "lines"])
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_decompression_bombs_in_json_lines(suffix, filling, tmp_path):
    """Half a gigabyte of one line, or of empty lines, in a few megabytes."""
    path = tmp_path / f"bomb.jsonl{suffix}"
    with compressed(path) as file:
        for _ in range(32):
            file.write(filling * 2**14)
        file.write(b"\n" + json.dumps(FINE).encode() + b"\n")
    assert path.stat().st_size < 2**23
    strict, lenient = build_with_limited_memory(path, tmp_path)
    assert lenient == "1"
    if filling == LINES:
        assert strict == "1"
    else:
        assert "bomb.jsonl" in strict
        assert "longer than 64 MiB" in strict


def test_decompression_bombs_in_text_files(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "fine.txt").write_text("Fine.")
    with compressed(folder / "bomb.txt.gz") as file:
        for _ in range(24):
            file.write(b"a " * 2**23)
    assert build_with_limited_memory(folder, tmp_path) == ["1", "1"]
