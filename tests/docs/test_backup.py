"""The backup commands of docs/knowledge-bases.md."""

import json
import os
import subprocess
import sys

import pytest

from admiral.kb import KnowledgeBase, build, verify
from tests.docs.code_blocks import ROOT, blocks


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


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    records = [{"title": f"Bird {n}", "text": f"Bird {n} sings."} for n in range(50)]
    (home / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    build(home / "corpus.jsonl", home / "my-kb", bm25="bm25s", progress=False)
    return home


def test_the_damaged_one_is_kept(home, environment):
    back_up, restore = backup_commands()
    run(back_up, home, environment)
    os.truncate(home / "my-kb" / "titles.marisa", 16)
    run(restore, home, environment)
    assert verify(home / "my-kb") == []
    with KnowledgeBase.open(home / "my-kb") as opened:
        assert len(opened) == 50
        assert opened.search(["sings"], 5)[0]
    assert (home / "my-kb.damaged" / "titles.marisa").stat().st_size == 16


def run(code, folder, environment):
    done = subprocess.run(
        ["bash", "-e", "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
