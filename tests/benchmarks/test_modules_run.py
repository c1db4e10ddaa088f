"""Modules are counted as loaded, and as entered only if a function of theirs is called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_loaded_and_entered_modules_are_told_apart(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "benchmarks.modules_run", "--profile", str(report)]
    subprocess.run([*command, "admiral", "--version"], cwd=ROOT, check=True)
    files = json.loads(report.read_text())
    assert str(ROOT / "admiral" / "__main__.py") in files["loaded"]
    assert str(ROOT / "admiral" / "errors.py") in files["loaded"]  # classes only
    assert str(ROOT / "admiral" / "errors.py") not in files["entered"]
    assert str(ROOT / "admiral" / "cli" / "main.py") in files["loaded"]
    assert set(files["entered"]) < set(files["loaded"])
