"""Changes keep the permissions of a shared knowledge base, whatever the umask."""

from __future__ import annotations

import os

import pytest

from admiral.kb import add, build, compact, join, remove


@pytest.fixture
def set_umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def _modes(kb):
    paths = [kb, *kb.rglob("*")]
    return (
        {path.stat().st_mode & 0o777 for path in paths if path.is_dir()},
        {path.stat().st_mode & 0o777 for path in paths if path.is_file()},
    )


@pytest.mark.parametrize(("umask", "modes"), [(0o022, (0o755, 0o644)), (0o027, (0o750, 0o640))])
def test_changes_keep_the_file_modes(umask, modes, set_umask, birds, write_jsonl, tmp_path):
    kb, expected = tmp_path / "kb", ({modes[0]}, {modes[1]})
    set_umask(umask)
    build(birds, kb, bm25="bm25s", progress=False)
    join([kb], tmp_path / "joined")
    assert _modes(kb) == expected == _modes(tmp_path / "joined")
    set_umask(0o077)
    add(write_jsonl([{"title": "Emu", "text": "A bird."}]), kb, progress=False)
    assert (kb / "segments").is_dir()
    assert _modes(kb) == expected
    remove("Bird", kb, progress=False)
    assert _modes(kb) == expected
    compact(kb, progress=False)
    assert _modes(kb) == expected
    join([kb], tmp_path / "joined", overwrite=True)
    assert _modes(tmp_path / "joined") == expected
    build(birds, kb, bm25="bm25s", overwrite=True, progress=False)
    assert _modes(kb) == expected
