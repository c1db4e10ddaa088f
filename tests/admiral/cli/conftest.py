"""Running the command line as a person does: in a process of its own."""

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
def environment(user_cache: None) -> dict[str, str]:
    """The environment of the processes: the session's cache, our source, warnings as errors."""
    # Other people's warnings at import time are not ours to turn into errors.
    ours = ",".join(f"error:::{name}" for name in ("admiral", "trie", "proofs"))
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": ours, "COLUMNS": "100"}


@pytest.fixture(scope="session")
def command() -> list[str]:
    """The console script, as the entry point starts it."""
    return [sys.executable, "-c", "from admiral.cli.main import run; run()"]


@pytest.fixture(scope="session")
def admiral(environment: dict[str, str], command: list[str]) -> Admiral:
    """Run `admiral` with arguments and, where given, bytes on standard input."""

    def run(
        *arguments: str | Path, stdin: bytes = b"", **options: object
    ) -> subprocess.CompletedProcess[bytes]:
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
