"""Java and Ray in one process, whichever comes first."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from admiral.cluster.fault_handlers import kept_fault_handlers

ROOT = Path(__file__).parents[3]
JAVA_THEN_RAY = """
import sys
from pathlib import Path
from admiral.cluster.ray_session import connected
from admiral.kb.bm25 import build_bm25, merge_bm25, open_bm25
folder = Path(sys.argv[1])
build_bm25("lucene", [("a", "lamp")] * 3, folder / "0")
with connected("local"):
    texts = [("b", " ".join(f"w{n * n % (7 + k)}" for k in range(200))) for n in range(20_000)]
    build_bm25("lucene", texts, folder / "1")
    merge_bm25("lucene", [folder / "0", folder / "1"], folder / "merged")
    with open_bm25("lucene", folder / "merged") as index:
        print([row for row, _ in index.search_rows(["lamp"], 9)[0]])
"""


def handler(fault: int) -> Any:
    action = (ctypes.c_void_p * 128)()
    ctypes.CDLL(None).sigaction(int(fault), None, action)
    return action[0]


def test_handlers_are_put_back() -> None:
    before = handler(signal.SIGFPE)
    with kept_fault_handlers():
        action = (ctypes.c_void_p * 128)()
        action[0] = 1  # SIG_IGN
        ctypes.CDLL(None).sigaction(int(signal.SIGFPE), action, None)
        assert handler(signal.SIGFPE) == 1
    assert handler(signal.SIGFPE) == before != 1


@pytest.mark.slow
def test_java_outlives_the_start_of_ray(ray: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", JAVA_THEN_RAY, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2]\n"), done.stderr
