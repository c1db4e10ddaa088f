"""The backup commands of docs/knowledge-bases.md."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from admiral.kb import KnowledgeBase, build, check
from tests.docs.code_blocks import ROOT, blocks

WRITER = """
import json, sys
from pathlib import Path
from admiral.kb import add
for n in range(10_000):
    corpus = Path(f"more-{n}.jsonl")
    corpus.write_text(json.dumps({"title": f"Nest {n}", "text": f"Nest {n} is new."}) + "\\n")
    add(corpus, "my-kb", wait=True, progress=False)
    print(n, flush=True)
"""


def backup_commands():
    page = blocks(ROOT / "docs" / "knowledge-bases.md")
    return [block.code for block in page if "test_backup" in (block.reason or "")]


@pytest.fixture
def environment(tmp_path):
    """Return an environment in which the command `admiral` runs this source."""
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "admiral"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m admiral "$@"\n')
    command.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.mark.skipif(shutil.which("flock") is None, reason="the command flock is missing")
def test_a_copy_taken_during_writes_is_one_of_the_versions(tmp_path, environment):
    back_up, restore = backup_commands()
    home = tmp_path / "home"
    home.mkdir()
    records = [{"title": f"Bird {n}", "text": f"Bird {n} sings."} for n in range(50)]
    (home / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    build(home / "corpus.jsonl", home / "my-kb", bm25="bm25s", progress=False)
    command = [sys.executable, "-c", WRITER]
    with subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, text=True
    ) as writer:
        before = int(writer.stdout.readline())
        run(back_up, home, environment)
        assert writer.poll() is None  # it has written all the time
        writer.kill()
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    shutil.move(home / "my-kb.tar", elsewhere)
    run(restore, elsewhere, environment)
    kb = elsewhere / "my-kb"
    assert check(kb) == []
    with KnowledgeBase.open(kb) as opened:
        titles = set(opened.titles())
        added = len(titles) - 50
        assert added > before
        assert titles == {f"Bird {n}" for n in range(50)} | {f"Nest {n}" for n in range(added)}
        assert opened.search(["sings"], 5)[0]


def run(code, folder, environment):
    done = subprocess.run(
        ["bash", "-e", "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
