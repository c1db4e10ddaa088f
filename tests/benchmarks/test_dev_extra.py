"""Measurements without the extra ``dev``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("program", "package"), [("trie_comparison", "psutil"), ("fever_agreement", "hypothesis")]
)
def test_a_missing_package_is_one_line_that_names_the_remedy(program: str, package: str) -> None:
    code = (
        f"import runpy, sys; sys.modules[{package!r}] = None; "
        f"runpy.run_module('benchmarks.{program}', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert f"{package} is not installed" in done.stderr and "make setup" in done.stderr
