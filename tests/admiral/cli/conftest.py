"""Run the command line: in the process of the tests, which has loaded torch, or in its own."""

import io
import logging
import os
import subprocess
import sys
import tempfile
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from admiral.cli.main import run as run_console_script

ROOT = Path(__file__).parents[3]


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
def admiral_process(environment, command):
    """Return a function that runs `admiral` in a process of its own."""

    def run(*arguments, stdin=b"", **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [*command, *map(str, arguments)],
            input=stdin,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=300,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def admiral(user_cache):
    """Return a function that runs `admiral` in this process, with bytes on standard input."""

    def run(*arguments, stdin=b"", cwd="."):
        argv = ["admiral", *map(str, arguments)]
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        status = 0
        with (
            chdir(cwd),
            new_logging(),
            standard_input(stdin) as given,
            patch.multiple(sys, argv=argv, stdin=given),
            patch.dict(os.environ, COLUMNS="100"),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                run_console_script()
            except SystemExit as exit_:
                status = exit_.code
        assert isinstance(status, int)
        out.flush()
        err.flush()
        return subprocess.CompletedProcess(
            argv, status, out.buffer.getvalue(), err.buffer.getvalue()
        )

    return run


@contextmanager
def standard_input(content):
    """Read bytes as standard input, by descriptor too."""
    before = os.dup(0)
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        os.dup2(file.fileno(), 0)
        try:
            yield io.TextIOWrapper(file, encoding="utf-8")
        finally:
            os.dup2(before, 0)
            os.close(before)


@contextmanager
def new_logging():
    """Let a command set up logging as if it was the first to do so."""
    root, packages = (
        logging.getLogger(),
        [logging.getLogger(n) for n in ("admiral", "proofs", "trie")],
    )
    handlers, levels = root.handlers[:], [logger.level for logger in packages]
    root.handlers.clear()
    try:
        yield
    finally:
        root.handlers[:] = handlers
        for logger, level in zip(packages, levels, strict=True):
            logger.setLevel(level)
