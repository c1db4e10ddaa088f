"""Commands work with standard error closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from admiral.io.progress import stderr_is_terminal, track_claims, track_documents


def test_a_closed_standard_error_is_not_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not stderr_is_terminal()
    assert list(track_documents("abc", "reading")) == ["a", "b", "c"]
    assert list(track_claims("abc", done=0, total=3)) == ["a", "b", "c"]


def test_a_command_works_with_standard_error_closed(tmp_path):
    corpus, kb = tmp_path / "c.jsonl", tmp_path / "kb"
    corpus.write_text('{"title": "A", "text": "A bird."}\n')
    code = "from admiral.cli.main import run; run()"
    command = [sys.executable, "-c", code, "index", str(corpus), "--kb", str(kb), "--bm25", "none"]
    closing = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    done = subprocess.run([*closing, *command], cwd=Path(__file__).parents[3], timeout=300)
    assert done.returncode == 0
    assert (kb / "manifest.json").exists()
