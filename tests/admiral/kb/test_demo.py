import subprocess
import sys
from pathlib import Path

import pytest

from admiral.kb import KnowledgeBase, demo_kb, verify


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_demo_is_built_once(cache):
    path = demo_kb("bm25s")
    assert path.is_relative_to(cache)
    made = (path / "manifest.json").stat().st_mtime_ns
    assert demo_kb("bm25s") == path
    assert (path / "manifest.json").stat().st_mtime_ns == made
    assert verify(path) == []
    with KnowledgeBase.open(path) as kb:
        assert len(kb) >= 300
        first = kb.title(0)
        assert first in [hit.title for hit in kb.search([first], 5)[0]]


def test_a_damaged_demo_is_built_again():
    path = demo_kb("bm25s")
    (path / "titles.marisa").write_bytes(b"")
    assert demo_kb("bm25s") == path
    assert verify(path) == []


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
