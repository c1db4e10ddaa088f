"""The error for a corpus of unknown format names the cause."""

from __future__ import annotations

import pytest

from admiral.io.streams import json_objects
from admiral.kb.corpus.readers import unknown_format_error

UNKNOWN = ": its first records match no known format: "


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ": is empty. Give a file with a document on each line."),
        (b"\n \n", ": is empty."),
        (b'{"title": "caf\xe9", "text": "x"}\n', ":1: not UTF-8 (byte 15 is 0xe9). Convert"),
        (b"hello\n", ":1: not a JSON object"),
        (b'\n{"title": "A"}\n', UNKNOWN + "that of line 2 has a title, but neither text nor sen"),
        (b'x\n{"name": "A"}\n', UNKNOWN + "the fields of line 2 are 'name'."),
        (b"{}\n", UNKNOWN + "the fields of line 1 are none."),
    ],
)
def test_the_cause_is_named(tmp_path, content, says):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content)
    error = unknown_format_error(path, json_objects(path), ["jsonl", "beir"])
    assert str(error).startswith(f"{path}{says}")
    assert ("(jsonl, beir)" in str(error)) == (b"{" in content and b"\xe9" not in content)
