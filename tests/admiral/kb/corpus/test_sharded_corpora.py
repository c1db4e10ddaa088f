"""A build in shards equals a build in one process."""

import gzip
import json
import logging
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.io.streams import corpus_path
from admiral.kb import KnowledgeBase, build
from admiral.kb.corpus.duplicates import TitleSet
from admiral.kb.corpus.file_reports import FileRange, split_lines
from admiral.kb.store.index_building import BuildWorkers

WORDS = ["harbour", "lamp", "lamps", "painted", "painter's", "the", "of", "Zürich", "1973", "river"]
QUERIES = ["harbour lamp", "the painter of the river", "T7 1973", "nothing"]


def write(folder, *, titles, seed=0):
    """Write files of unequal lengths, one of them empty; few titles give duplicates."""
    rng = random.Random(seed)
    for number in range(7):
        file = folder / f"part-{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w") as stream:
            for _ in range(0 if number == 3 else rng.randint(1, 150)):
                record = {
                    "title": f"T{rng.randrange(titles)}",
                    "sentences": [
                        " ".join(rng.choices(WORDS, k=rng.randint(0, 30)))
                        for _ in range(rng.randint(0, 40))
                    ],
                }
                stream.write(json.dumps(record) + "\n")
    return folder


def build_both(tmp_path, corpus, workers, **options):
    whole_kb, sharded_kb = tmp_path / "whole", tmp_path / "parts"
    reports = []
    for path, pool in ((whole_kb, None), (sharded_kb, workers)):
        reports.append(build(corpus, path, progress=False, workers=pool, **options))
    for field in ("documents", "sentences", "links", "bad", "duplicates"):
        assert getattr(reports[0], field) == getattr(reports[1], field), field
    return whole_kb, sharded_kb


@pytest.mark.parametrize(
    ("policy", "shards", "size"),
    [("merge", 99, 1500), ("skip", 99, 2**26), ("rename", 3, 2**26)],
)
def test_a_sharded_build_writes_the_same_bytes(tmp_path, policy, shards, size):
    corpus = write(tmp_path / "corpus", titles=300)
    workers = BuildWorkers(map, shards=shards, bytes=size)
    whole_kb, sharded_kb = build_both(tmp_path, corpus, workers, bm25="none", on_duplicate=policy)
    files = sorted(p.relative_to(whole_kb) for p in whole_kb.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(sharded_kb) for p in sharded_kb.rglob("*") if p.is_file())
    for file in files:
        assert (whole_kb / file).read_bytes() == (sharded_kb / file).read_bytes(), file


def test_a_duplicate_title_error_names_both_positions(tmp_path):
    corpus = write(tmp_path / "corpus", titles=300)
    messages = []
    for workers in (None, BuildWorkers(map, shards=4), BuildWorkers(map, bytes=1000)):
        with pytest.raises(AdmiralError) as caught:
            build(corpus, tmp_path / "kb", bm25="none", progress=False, workers=workers)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] == messages[2]
    twice = [corpus / "part-1.jsonl"] * 2
    messages = []
    for workers in (None, BuildWorkers(map, bytes=1000)):
        with pytest.raises(AdmiralError) as caught:
            build(twice, tmp_path / "kb", bm25="none", progress=False, workers=workers)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert not (tmp_path / "kb").exists()
    assert list(tmp_path.glob(".kb.new-*")) == []


@pytest.mark.parametrize("size", [2**26, 900])
def test_bad_records_are_reported_and_counted(tmp_path, caplog, size):
    corpus = write(tmp_path / "corpus", titles=10_000)
    for number in (2, 5):
        with (corpus / f"part-{number}.jsonl").open("a") as file:
            file.write("{}\n" * 15)
    bad = corpus / "part-2.jsonl"
    line = bad.read_text().count("\n") - 14
    with pytest.raises(AdmiralError, match=rf"{bad}:{line}: field 'title': missing"):
        build(
            corpus,
            tmp_path / "kb",
            bm25="none",
            on_duplicate="skip",
            progress=False,
            workers=BuildWorkers(map, bytes=size),
        )
    caplog.set_level(logging.WARNING)
    _, sharded_kb = build_both(
        tmp_path,
        corpus,
        BuildWorkers(map, bytes=size),
        bm25="none",
        skip_bad=True,
        on_duplicate="skip",
    )
    messages_logged = [r.message for r in caplog.records if r.message.startswith("skipped: ")]
    assert len(messages_logged) == 40
    assert messages_logged[:20] == messages_logged[20:]
    with KnowledgeBase.open(sharded_kb) as kb:
        assert kb.settings["bad_records"] == 30


def test_text_folders_and_urls_are_read_in_shards(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(5):
        (folder / f"Lamp_{number}.txt").write_text("One lamp. Two lamps.")
    for corpus in (folder, f"file://{folder}"):
        kb = tmp_path / f"kb{isinstance(corpus, str)}"
        build(corpus, kb, bm25="bm25s", progress=False, workers=BuildWorkers(map, shards=2))
        with KnowledgeBase.open(kb) as opened:
            assert list(opened.titles()) == [f"Lamp {number}" for number in range(5)]


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


@given(st.lists(st.text(max_size=3)))
def test_a_title_set_equals_a_dictionary(titles):
    seen, oracle = TitleSet(), dict[str, int]()
    for row, title in enumerate(titles):
        assert seen.find_or_add(title, row) == oracle.get(title)
        oracle.setdefault(title, row)
    assert len(seen) == len(oracle)


def test_a_large_title_set():
    seen = TitleSet()
    for row in range(20_000):
        assert seen.find_or_add(f"t{row}", row) is None
    assert all(seen.find_or_add(f"t{row}", 0) == row for row in range(20_000))


def test_titles_that_look_the_same_are_the_same():
    titles = TitleSet()
    assert titles.find_or_add("Caf\u00e9", 0) is None
    assert titles.find_or_add("Cafe\u0301", 1) == 0
    assert "Cafe\u0301" in titles
