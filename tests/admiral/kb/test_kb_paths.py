"""Paths of knowledge bases and corpora: empty, not UTF-8, relative, or the root."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, check, demo_kb, locate, remove


def test_a_relative_path_survives_a_change_of_directory(birds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build(birds, "kb", bm25="bm25s", progress=False)
    with KnowledgeBase.open("kb") as kb:
        monkeypatch.chdir("/")
        assert len(kb.search(["seed"], 1)[0]) == 1
        assert kb.current
        assert kb.path == tmp_path / "kb"


USES = {
    "index": lambda corpus, path: build(corpus, path, bm25="none", progress=False),
    "add": lambda corpus, path: add(corpus, path, progress=False),
    "remove": lambda _, path: remove("Bird", path),
    "open": lambda _, path: KnowledgeBase.open(path),
    "locate": lambda _, path: locate(path),
}


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """Change to an empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("use", USES)
def test_an_empty_path_is_an_error(use, birds, empty):
    with pytest.raises(
        AdmiralError, match=r"path of the knowledge base is empty\. Name a directory"
    ):
        USES[use](birds, "")
    assert not os.listdir()


@pytest.mark.parametrize("use", USES)
def test_a_path_that_is_not_utf8_is_an_error(use, birds, empty):
    with pytest.raises(AdmiralError, match=r"z\\udcff': the path .* must be UTF-8") as caught:
        USES[use](birds, os.fsdecode(b"z\xff"))
    assert str(caught.value).isprintable()
    assert not os.listdir()


def test_an_empty_corpus_path_is_an_error(tmp_path):
    with pytest.raises(AdmiralError, match=r"path of a corpus is empty\. Name a file or a folder"):
        build("", tmp_path / "kb", bm25="none", progress=False)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_demo_is_built_once(cache):
    path = demo_kb("bm25s")
    assert path.is_relative_to(cache)
    made = (path / "kb.sqlite").stat().st_mtime_ns
    assert demo_kb("bm25s") == path
    assert (path / "kb.sqlite").stat().st_mtime_ns == made
    assert check(path) == []
    with KnowledgeBase.open(path) as kb:
        assert len(kb) >= 300
        first = kb.title(0)
        assert first in [hit.title for hit in kb.search([first], 5)[0]]


def test_two_processes_at_the_same_time():
    script = "from admiral.kb import demo_kb; print(demo_kb('bm25s'))"
    root = str(Path(__file__).parents[3])
    children = [
        subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = {child.communicate()[0].decode().strip() for child in children}
    assert [child.returncode for child in children] == [0, 0]
    assert outputs == {str(demo_kb("bm25s"))}
