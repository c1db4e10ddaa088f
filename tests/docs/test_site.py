"""The documentation site is built without warnings, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_is_built_and_self_contained(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--site-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]*\ssrc=\"?(?:https?:)?//|"
            r"<link[^>]*rel=\"?(?:stylesheet|preconnect|preload)[^>]*href=\"?(?:https?:)?//",
            page.read_text(encoding="utf-8"),
        )
        assert loaded == [], page
