import bz2
import gzip
import lzma
import re
from contextlib import suppress

import pytest
import zstandard

from admiral.errors import AdmiralError, RecordError
from admiral.io import streams
from admiral.io.streams import json_objects, numbered_lines

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
DATA = b"".join(b'{"n": %d}\n' % n for n in range(3000))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compression_is_detected_by_content_not_by_name(suffix, tmp_path):
    path = tmp_path / "corpus"
    # Two members, as ``cat`` makes them.
    path.write_bytes(COMPRESS[suffix](DATA) + COMPRESS[suffix](DATA))
    values = [item[1]["n"] for item in json_objects(path) if not isinstance(item, RecordError)]
    assert values == [*range(3000), *range(3000)]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_padding_between_and_after_streams_is_skipped(suffix, tmp_path):
    path = tmp_path / "corpus"
    one = COMPRESS[suffix](DATA)
    # The second stream begins at the end of a chunk that is read, too.
    for padding in (4, 512, 2**16 - len(one) - 3, 2**17):
        path.write_bytes(one + bytes(padding) + COMPRESS[suffix](DATA) + bytes(padding))
        assert len(list(numbered_lines(path))) == 6000


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("padding", [0, 512])
def test_bytes_after_a_stream_that_are_not_a_stream_are_an_error(suffix, padding, tmp_path):
    path = tmp_path / f"corpus{suffix}"
    one = COMPRESS[suffix](DATA)
    padding = 0 if suffix == ".zst" else padding  # it has none
    damaged = bytearray(one)
    damaged[1] ^= 0x10
    for second in (damaged, b"Z", b"rubbish that is longer than a header", one[:3]):
        path.write_bytes(one + bytes(padding) + second)
        *_, last = numbered_lines(path)
        assert isinstance(last, RecordError)
        assert re.match(rf"{path}:\d+: the compressed file is damaged or cut off", str(last))


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("keep", [0.5, 0.98])
def test_cut_off_archives_keep_whole_lines_and_say_so(suffix, keep, tmp_path):
    path = tmp_path / f"corpus{suffix}"
    whole = COMPRESS[suffix](DATA)
    path.write_bytes(whole[: int(len(whole) * keep)])
    if suffix in (".bz2", ".zst"):  # their only block is not whole
        with pytest.raises(AdmiralError, match=f"{path}: the compressed file is damaged or cut"):
            list(numbered_lines(path))
        return
    *before, last = numbered_lines(path)
    assert isinstance(last, RecordError)
    assert len(before) > 1000
    place = f"{path}:{len(before) + 1}"
    assert str(last).startswith(f"{place}: the compressed file is damaged or cut off")
    assert before == list(enumerate(DATA.splitlines(keepends=True), 1))[: len(before)]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_damaged_archives_raise_no_other_error(suffix, tmp_path):
    whole = COMPRESS[suffix](DATA[:4000])
    path = tmp_path / "corpus"
    for position in range(6, len(whole), max(1, len(whole) // 100)):
        flipped = bytearray(whole)
        flipped[position] ^= 0x10
        path.write_bytes(flipped)
        with suppress(AdmiralError):  # a flipped bit may also decompress to the same data
            list(json_objects(path))


def test_bad_lines_name_file_and_line_and_the_rest_is_read(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"a": \n[1]\n{"a": "\xff"}\n{"a": 2}')
    items = list(json_objects(path))
    good = [item for item in items if not isinstance(item, RecordError)]
    bad = [str(item) for item in items if isinstance(item, RecordError)]
    assert good == [(1, {"a": 1}), (6, {"a": 2})]
    assert [text.split(": ")[0] for text in bad] == [f"{path}:{n}" for n in (3, 4, 5)]
    assert "not a JSON object" in bad[0]
    assert "a JSON list instead of an object" in bad[1]
    assert "not UTF-8 (byte 8 is 0xff)" in bad[2]


def test_deep_nesting_and_huge_numbers_are_bad_records(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"a": ' + "[" * 200_000 + "\n" + '{"a": ' + "9" * 5000 + "}\n")
    assert all(isinstance(item, RecordError) for item in json_objects(path))


def test_overlong_lines_are_bad_records(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LONGEST_RECORD", 100)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"x" * 950 + b"\nshort\n" + b"y" * 100 + b"\n" + b"z" * 99 + b"\n")
    items = list(numbered_lines(path))
    assert [i.where if isinstance(i, RecordError) else i[0] for i in items] == [
        f"{path}:1",
        2,
        f"{path}:3",
        4,
    ]


def test_utf16_is_an_error_with_a_remedy(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"title": "x"}\n', encoding="utf-16")
    with pytest.raises(AdmiralError, match="iconv"):
        list(json_objects(path))
