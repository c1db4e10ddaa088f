"""Ranges of a file consist of whole lines and cover the file."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.io.remote import corpus_path
from admiral.kb.corpus.file_ranges import FileRange, split_lines

_line = st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"") + b"\n")


def places(path):
    return [path, corpus_path(f"file://{path}")]


@given(lines=st.lists(_line, max_size=30), tail=st.binary(max_size=9), size=st.integers(1, 200))
def test_ranges_consist_of_whole_lines_and_cover_the_file(tmp_path_factory, lines, tail, size):
    content = b"x" + b"".join(lines) + tail
    path = tmp_path_factory.mktemp("parts") / "file"
    path.write_bytes(content)
    for place in places(path):
        ranges = split_lines(place, size)
        parts = [FileRange(place, *one) for one in ranges]
        contents = []
        for part in parts:
            with part.open("rb") as file:
                file.read(6)
                file.seek(0)
                contents.append(file.read())
            assert part.lines == contents[-1].count(b"\n")
        assert b"".join(contents) == content
        assert all(text.endswith(b"\n") for text in contents[:-1])
        for text in contents[:-1]:
            assert len(text) >= size
            assert b"\n" not in text[size - 1 : -1], "it could have ended before"
        before = [part.lines_before() for part in parts]
        assert before == [content[:first].count(b"\n") for first, _ in ranges]


def test_compressed_and_empty_files_are_not_split(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n" * 100))
    for place in places(path):
        assert split_lines(place, 10) == []
    path.write_bytes(b"")
    assert split_lines(path, 10) == []
    with pytest.raises(AdmiralError, match=r"absent: cannot be read"):
        split_lines(tmp_path / "absent", 10)
