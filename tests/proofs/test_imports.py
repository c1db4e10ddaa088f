"""Records of proofs are read without what only decoding needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("module", ["proofs", "admiral.records", "admiral.evaluation.report"])
def test_torch_stays_out(module: str) -> None:
    check = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", check], cwd=root).returncode == 0
