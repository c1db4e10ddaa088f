"""Files that are cut off while a knowledge base is open: an error, not the end of the process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from admiral.graph import build_graph
from admiral.kb import build

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
    import os, sys, time
    import numpy as np
    from admiral import AdmiralError
    from admiral.graph import MentionGraph
    from admiral.kb import KnowledgeBase

    path, file = sys.argv[1:]
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
            print(error)
""")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_off_is_an_error(built: Path, tmp_path: Path, name: str) -> None:
    kb = shutil.copytree(built, tmp_path / "kb")
    done = subprocess.run(
        [sys.executable, "-c", USE, kb, kb / name],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr  # minus 7 is SIGBUS
    assert str(kb / name) in done.stdout
    assert "cut off or replaced while it was open" in done.stdout
