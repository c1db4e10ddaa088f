"""Files that are cut off while a knowledge base is open: an error, not the end of the process."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from admiral.graph import build_graph
from admiral.kb import add, build, compact, remove

FILES = [
    "documents/documents.arrow",
    "documents/rows.npy",
    "titles.marisa",
    "titles-rows.npy",
    "titles-keys.npy",
    "bm25/text/data.csc.index.npy",
    "bm25/vocabulary.marisa",
    "graph/frame_entities.idx.npy",
    "graph/row_frames.npy",
]
USE = textwrap.dedent("""
    import os, shutil, sys, time
    import numpy as np
    from admiral import AdmiralError
    from admiral.graph import MentionGraph
    from admiral.kb import KnowledgeBase

    for name in sys.argv[2:]:
        path = sys.argv[1] + "-" + name.replace("/", "-")
        shutil.copytree(sys.argv[1], path)
        file = f"{path}/{name}"
        with KnowledgeBase.open(path) as kb:
            kb.search(["harbour"], 1)
            graph = MentionGraph.open(kb)
            os.truncate(file, os.path.getsize(file) // 3)
            time.sleep(0.02)
            try:
                for n in range(0, 2000, 50):
                    kb.document(f"Harbour {n}")
                    kb.search([f"harbour trade {n}"], 3)
                    graph.mentions_of(np.array([n]))
            except AdmiralError as error:
                print(file, error, flush=True)
""")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    records = [
        {"title": f"Harbour {n}", "sentences": [f"Trade {n} with Harbour {n * 7 % 2000}."] * 3}
        for n in range(2000)
    ]
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    build(corpus, folder / "kb", bm25="bm25s", progress=False)
    build_graph(folder / "kb", progress=False)
    return folder / "kb"


def test_a_file_that_is_cut_off_is_an_error(built):
    done = subprocess.run(
        [sys.executable, "-c", USE, built, *FILES],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr  # minus 7 is SIGBUS
    for name, line in zip(FILES, done.stdout.splitlines(), strict=True):
        assert line.split()[0].endswith(name)
        assert line.count(f"/{name}") == 2
        assert "cut off or replaced while it was open" in line


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
    assert _modes(kb) == expected
    set_umask(0o077)
    add(write_jsonl([{"title": "Emu", "text": "A bird."}]), kb, progress=False)
    assert (kb / "segments").is_dir()
    assert _modes(kb) == expected
    remove("Bird", kb, progress=False)
    assert _modes(kb) == expected
    compact(kb, progress=False)
    assert _modes(kb) == expected
    build(birds, kb, bm25="bm25s", overwrite=True, progress=False)
    assert _modes(kb) == expected
