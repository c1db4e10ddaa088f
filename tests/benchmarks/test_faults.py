"""The fault injection notices what it is there for, and the writers stand it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,  # many processes
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, cc"),
]

CARELESS = """
import random, sys
from pathlib import Path
from benchmarks.faults import Rounds
from benchmarks.faulty import preloaded
from benchmarks.writer import Writer, files_seen

preloaded()


def careless(folder):
    (folder / "file").write_bytes(b"new" * 1000)


def careful(folder):
    from admiral.storage.atomic_files import write_atomically

    write_atomically(folder / "file", [b"new" * 1000])


def before(folder):
    (folder / "file").write_bytes(b"old")


for write in (careless, careful):
    folder = Path(sys.argv[1], write.__name__)
    folder.mkdir()
    rounds = Rounds(Writer("one", before, write, lambda f: files_seen(f, ["file"])), folder)
    rounds.run(24, random.Random(0))
    print(rounds.outcomes.total() + len(rounds.losses), len(rounds.losses))
"""


def test_a_careless_writer_is_found_out_and_a_careful_one_is_not(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CARELESS)
    command = [sys.executable, str(script), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (careless, careful) = (tuple(map(int, line.split())) for line in done.stdout.splitlines())
    assert careless[0] > 10 and careless[1] > 3
    assert careful[0] > 20 and careful[1] == 0


def test_the_writers_stand_it() -> None:
    quick = ("index", "add", "samples", "weights", "parallel text", "download")
    only = [word for name in quick for word in ("--only", name)]
    command = [sys.executable, "-m", "benchmarks.faults", "--rounds", "8", *only]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{8 * len(quick):6}  lost 0" in done.stdout
