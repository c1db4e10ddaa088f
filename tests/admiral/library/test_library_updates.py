"""Changes of a library: the same as a new build, atomic, and exclusive."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.library import (
    Library,
    Source,
    add_sources,
    build_library,
    compact_library,
    describe_library,
    embed_passages,
    library_problems,
    remove_sources,
)
from tests.admiral.failing_calls import FAULTS, Failing, full_disk, marked_faults
from tests.admiral.kb.embeddings.fake_encoder import FakeEncoder


def source(name, word):
    return Source(f"https://example.org/{name}", f"On {name}", f"A text about {word}. " * 40)


def contents(path):
    """Return all sources, the results of a search, and which passages have vectors."""
    with Library.open(path) as library:
        sources = sorted(library.sources(), key=lambda each: each.url)
        found = library.search(["text", "egg", "about bird"], 100)
        try:
            dense = library.dense(FakeEncoder()).search(["text"], 100)
            vectors = sorted((s.passage.url, s.passage.number) for s in dense[0])
        except AdmiralError:
            vectors = []
    scores = [
        sorted((s.passage.url, s.passage.number, round(s.score, 4)) for s in each) for each in found
    ]
    return sources, scores, vectors


@pytest.fixture(scope="module")
def updated(tmp_path_factory):
    """Build a library with a delta segment, so that every kind of change does something."""
    path = tmp_path_factory.mktemp("updated") / "library"
    build_library(path, [source(n, n) for n in ("bird", "seed", "tit")], encoder=FakeEncoder())
    add_sources(path, [source("nest", "twigs")])
    remove_sources(path, ["example.org/seed"])
    return path


def _add(path):
    return add_sources(path, [source("egg", "eggs"), source("bird", "hens"), source("nest", "hay")])


def _remove(path):
    return remove_sources(path, ["example.org/bird", "example.org/nest"], ignore_missing=True)


def _embed(path):
    return embed_passages(path, FakeEncoder())


CHANGES: dict[str, Callable[[Path], object]] = {
    "add": _add,
    "remove": _remove,
    "compact": compact_library,
    "embed": _embed,
}


def copied(updated, path):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(updated, path)
    return path


_CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sets(st.integers(0, 6), min_size=1, max_size=3)),
        st.tuples(st.just("remove"), st.sets(st.integers(0, 6), min_size=1, max_size=3)),
        st.tuples(st.just("compact"), st.just(set[int]())),
    ),
    max_size=4,
)


@settings(max_examples=8)
@given(_CHANGES)
def test_a_changed_library_is_that_of_a_new_build(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("changes")
    held = {n: source(str(n), f"old{n}") for n in range(4)}
    build_library(folder / "library", held.values())
    for step, (kind, numbers) in enumerate(changes):
        if kind == "add":
            new = {n: source(str(n), f"new{n} step{step}") for n in sorted(numbers)}
            add_sources(folder / "library", new.values())
            held |= new
        elif kind == "compact":
            compact_library(folder / "library")
        elif numbers & set(held) and numbers < set(held):
            remove_sources(folder / "library", [f"example.org/{n}" for n in numbers])
            held = {n: each for n, each in held.items() if n not in numbers}
    build_library(folder / "new", held.values())
    queries = ["text about old1", "new3", "on 2", "step0 step1"]
    with Library.open(folder / "library") as one, Library.open(folder / "new") as other:
        assert len(one) == len(other)
        assert one.passage_count == other.passage_count
        for ours, theirs in zip(one.search(queries, 99), other.search(queries, 99), strict=True):
            assert {(s.passage.url, s.passage.number): s.score for s in ours} == pytest.approx(
                {(s.passage.url, s.passage.number): s.score for s in theirs}, rel=1e-5
            )
    assert library_problems(folder / "library") == []
    shutil.rmtree(folder)


def test_known_urls_are_replaced_skipped_or_refused(updated, tmp_path):
    path = copied(updated, tmp_path / "library")
    new = [source("bird", "hens"), source("egg", "eggs"), source("egg", "others")]
    with pytest.raises(AdmiralError, match=r"example\.org/bird"):
        add_sources(path, new, on_duplicate="error")
    report = add_sources(path, new, on_duplicate="skip")
    assert (report.added, report.replaced, report.skipped) == (1, 0, 2)
    report = add_sources(path, new)
    assert (report.added, report.replaced, report.skipped, report.sources) == (0, 2, 1, 4)
    with Library.open(path) as library:
        assert "hens" in library.source("example.org/bird").text  # type: ignore[union-attr]
    with pytest.raises(AdmiralError, match=r"no source with the canonical URL 'x\.example'"):
        remove_sources(path, ["http://x.example"])
    assert remove_sources(path, ["x.example"], ignore_missing=True).missing == 1
    with pytest.raises(AdmiralError, match="no source would be left"):
        remove_sources(path, [f"example.org/{n}" for n in ("bird", "tit", "nest", "egg")])


def test_vectors_are_kept_and_completed(updated, tmp_path):
    path = copied(updated, tmp_path / "library")
    with Library.open(path) as library, pytest.raises(AdmiralError, match="admiral library embed"):
        library.dense(FakeEncoder())
    encoder = FakeEncoder()
    report = embed_passages(path, encoder)
    assert report.embedded == len(encoder.texts) > 0
    assert all(text.startswith("On nest: ") for text in encoder.texts)
    compact_library(path)
    assert describe_library(path).embedded == {"fake": report.passages}
    assert embed_passages(path, encoder).embedded == 0
    assert library_problems(path) == []
    with Library.open(path) as library, pytest.raises(AdmiralError, match="no vectors of other"):
        library.dense(FakeEncoder("other"))


def test_an_open_library_is_one_version(updated, tmp_path):
    path = copied(updated, tmp_path / "library")
    before = contents(path)
    with Library.open(path) as library:
        _add(path)
        compact_library(path)
        compact_library(path)
        assert sorted(library.sources(), key=lambda each: each.url) == before[0]
        assert not library.current
        assert library.search(["twigs"], 1)[0]
    remove_sources(path, ["example.org/egg"])
    assert len(list((path / "segments").iterdir())) == 2  # base and delta
    assert not (path / "sources").exists()


def check_survived(path, change, before, after):
    """Check that a failed change left the old or the new version, and that it works afterwards."""
    assert contents(path) in (before, after)
    assert library_problems(path) == []
    CHANGES[change](path)
    assert contents(path) == after
    assert library_problems(path) == []


@pytest.mark.parametrize(("owner", "name"), marked_faults(), ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_every_failing_call_leaves_the_old_or_the_new_library(
    change, owner, name, updated, tmp_path, monkeypatch
):
    path = copied(updated, tmp_path / "library")
    before = contents(path)
    CHANGES[change](path)
    after = contents(path)
    messages: list[str] = []
    for n in range(200):
        copied(updated, path)
        with monkeypatch.context() as patch:
            fault = Failing(getattr(owner, name), n, full_disk)
            fault.patch(patch, owner, name)
            try:
                CHANGES[change](path)
            except AdmiralError as error:
                messages.append(str(error))
        if fault.left >= 0:
            break  # fewer than n calls: all have failed once
        check_survived(path, change, before, after)
    else:
        pytest.fail("no end of calls")
    assert all("No space left" in message for message in messages)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize(("owner", "name"), FAULTS, ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_every_call(change, owner, name, updated, tmp_path):
    path = copied(updated, tmp_path / "library")
    before = contents(path)
    CHANGES[change](path)
    after = contents(path)
    for n in range(200):
        copied(updated, path)
        child = os.fork()
        if child == 0:
            try:
                with pytest.MonkeyPatch.context() as patch:
                    killing = Failing(
                        getattr(owner, name), n, lambda: os.kill(os.getpid(), signal.SIGKILL)
                    )
                    killing.patch(patch, owner, name)
                    CHANGES[change](path)
            finally:
                os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            break
        check_survived(path, change, before, after)
    else:
        pytest.fail("no end of calls")


def test_a_second_writer_is_refused(updated, tmp_path):
    path = copied(updated, tmp_path / "library")
    with FileLock(tmp_path / ".library.lock"):
        for change in CHANGES.values():
            with pytest.raises(AdmiralError, match="another process is building or changing it"):
                change(path)
        with pytest.raises(AdmiralError, match="another process is building or changing it"):
            build_library(path, [source("a", "b")], overwrite=True)
