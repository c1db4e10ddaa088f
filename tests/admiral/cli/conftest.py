"""Run the command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
Admiral = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="session")
def environment(user_cache):
    """Return the environment of the processes: test cache, this source, warnings as errors."""
    # Only warnings of this project; other packages may warn when they are imported.
    own = ",".join(f"error:::{name}" for name in ("admiral", "trie", "proofs"))
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": own, "COLUMNS": "100"}


@pytest.fixture(scope="session")
def command():
    return [sys.executable, "-c", "from admiral.cli.main import run; run()"]


@pytest.fixture(scope="session")
def admiral(environment, command):
    """Return a function that runs `admiral` with arguments and bytes on standard input."""

    def run(*arguments, stdin=b"", **options):
        full = [*command, *map(str, arguments)]
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            full,
            input=stdin,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=300,
            **options,  # type: ignore[call-overload]
        )

    return run
