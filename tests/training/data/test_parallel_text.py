"""fairseq's parallel text: lines stay aligned, files are written as a whole."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from training.data.parallel_text import TextPair, read_parallel_text, write_parallel_text

TEXT = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("\\nr\n\r\0\x0b\x0c\x1c\x85\u2028\u2029 []"),
    max_size=12,
)
PAIRS = st.lists(st.builds(TextPair, TEXT, TEXT), max_size=5)
KEEP = settings(deadline=None, suppress_health_check=list(HealthCheck))


@KEEP
@given(PAIRS)
def test_escaped_text_comes_back(tmp_path, pairs):
    assert write_parallel_text(tmp_path, "train", pairs, escape=True) == len(pairs)
    assert list(read_parallel_text(tmp_path, "train", escaped=True)) == pairs
    for side in ("source", "target"):
        # As fairseq reads it: text mode, universal line ends.
        with (tmp_path / f"train.{side}").open(encoding="utf-8") as lines:
            assert sum(1 for _ in lines) == len(pairs)


@KEEP
@given(PAIRS)
def test_plain_text_is_written_as_it_is_or_refused(tmp_path, pairs):
    broken = [n for n, p in enumerate(pairs, 1) if set("\n\r") & {*p.source, *p.target}]
    if broken:
        with pytest.raises(RecordError, match=rf"train\.(source|target):{broken[0]}: field '"):
            write_parallel_text(tmp_path, "train", pairs)
        return
    write_parallel_text(tmp_path, "train", pairs)
    assert list(read_parallel_text(tmp_path, "train")) == pairs
    for side in ("source", "target"):
        written = (tmp_path / f"train.{side}").read_bytes()
        assert written == "".join(f"{getattr(pair, side)}\n" for pair in pairs).encode()


def test_a_failure_in_the_middle_leaves_the_old_pair(tmp_path):
    old = [TextPair("a", "b")]
    write_parallel_text(tmp_path, "train", old)

    def failing():
        yield TextPair("new", "new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parallel_text(tmp_path, "train", failing())
    with pytest.raises(RecordError, match="surrogate"):
        write_parallel_text(tmp_path, "train", [TextPair("ok", "bad \ud800")])
    assert list(read_parallel_text(tmp_path, "train")) == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.source", "train.target"]


BAD = {
    "shorter target": (b"a\nb\n", b"a\n", r"train.target:2: the file ends, but train.source"),
    "shorter source": (b"a", b"a\nb\nc", r"train.source:2: the file ends, but train.target"),
    "not utf-8": (b"a\n\xff\n", b"a\nb\n", r"train.source:2: not UTF-8"),
    "carriage return": (b"a\n", b"a\rb\n", r"train.target:1: a carriage return"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_by_line(tmp_path, case):
    source, target, message = BAD[case]
    (tmp_path / "train.source").write_bytes(source)
    (tmp_path / "train.target").write_bytes(target)
    with pytest.raises(RecordError, match=message):
        list(read_parallel_text(tmp_path, "train"))


@pytest.mark.parametrize("line", ["a\\", "\\t"])
def test_broken_escapes_are_named_by_line(tmp_path, line):
    write_parallel_text(tmp_path, "train", [TextPair("a", "b"), TextPair("a", line)])
    with pytest.raises(RecordError, match=r"train.target:2: .*escape"):
        list(read_parallel_text(tmp_path, "train", escaped=True))
    assert next(read_parallel_text(tmp_path, "train")) == TextPair("a", "b")


def test_missing_file_and_bad_split(tmp_path):
    with pytest.raises(AdmiralError, match=r"train.source: cannot be read .*needs both"):
        list(read_parallel_text(tmp_path, "train"))
    for split in ("", "a/b", ".."):
        with pytest.raises(AdmiralError, match="name of a split"):
            write_parallel_text(tmp_path, split, [])
