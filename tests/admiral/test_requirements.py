"""Missing packages are reported at once, with a command that installs them."""

import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from admiral.errors import AdmiralError, first_line, last_line
from admiral.requirements import (
    DISTRIBUTION,
    MissingPackagesError,
    check_extra,
    missing_extra,
    requirements,
    requirements_of,
)

ROOT = Path(__file__).parents[2]
EXTRAS = ("mcp", "ray", "training", "lucene")


@pytest.fixture
def lacking(tmp_path):
    """Return a folder for the path in which AdMIRaL's extras need packages that do not exist.

    Importing torch from there is an error: a command that lacks a package must not wait for it.
    """
    info = tmp_path / "admiral_retrieval-0.2.0.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {DISTRIBUTION}", "Version: 0.2.0"]
    lines += [f"Provides-Extra: {extra}" for extra in EXTRAS]
    lines += [f"Requires-Dist: absent-{e}[x]<3,>=2; extra == '{e}'" for e in EXTRAS]
    lines += ["Requires-Dist: click<1; extra == 'mcp'"]  # installed, but too new
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')\n")
    return tmp_path


def run(lacking, *arguments):
    path = os.pathsep.join(map(str, (lacking, ROOT)))
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=lacking,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )


def pip_arguments(message):
    commands = [shlex.split(text) for text in re.findall("`([^`]* -m pip install [^`]*)`", message)]
    assert commands, message
    for command in commands:
        assert command[:4] == [sys.executable, "-m", "pip", "install"]
    return [command[4:] for command in commands]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["admiral", "mcp"], ["absent-mcp[x]<3,>=2", "click<1"]),
        (
            ["admiral", "retrieve", "--engine", "ray", "--output", "r.jsonl", "A claim."],
            ["absent-ray[x]<3,>=2"],
        ),
        (["training", "verifier", "--config", "config.yaml"], ["absent-training[x]<3,>=2"]),
    ],
)
def test_a_command_that_lacks_an_extra_says_so_before_torch_is_imported(lacking, arguments, wanted):
    done = run(lacking, *arguments)
    assert done.returncode == 1, done.stderr
    assert "torch was imported" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert pip_arguments(done.stderr) == [wanted]


def test_the_remedy_for_lucene_names_both_commands(lacking):
    (lacking / "pyserini.py").write_text("")  # a module without the jar
    code = "from admiral.kb.bm25.jvm import lucene_jar; lucene_jar()"
    (lacking / "probe.py").write_text(code)
    done = run(lacking, "probe")
    assert pip_arguments(done.stderr) == [["absent-lucene[x]<3,>=2"], ["--no-deps", "pyserini"]]


def test_what_this_environment_has_is_not_missing():
    check_extra("lucene", "BM25")


def test_the_error_is_of_both_kinds_and_names_the_alternative():
    error = missing_extra("lucene", "the subject", "do without")
    assert isinstance(error, AdmiralError)
    assert isinstance(error, ImportError)
    assert isinstance(error, MissingPackagesError)
    assert str(error).startswith("the subject needs packages that are not installed. ")
    assert pip_arguments(str(error)) == [requirements("lucene")]
    assert str(error).endswith("`, or do without")


def test_extras_and_requirements_are_those_of_the_metadata():
    own = metadata.distribution(DISTRIBUTION)
    base = {requirement.name for requirement in requirements_of(own)}
    assert {"torch", "pypdf", "trafilatura", "uvicorn"} <= base
    for extra in own.metadata.get_all("Provides-Extra"):
        parsed = [Requirement(text) for text in requirements(extra)]
        assert all(requirement.marker is None for requirement in parsed)
        assert not base & {requirement.name for requirement in parsed}, extra


@pytest.mark.parametrize(
    ("message", "first", "last"),
    [
        ("no space.", "no space", "no space"),
        ("\nray::Worker.open() (pid=7)\n  File x\nValueError: 3\n\n", "ray::Worker.open() (pid=7)",
         "ValueError: 3"),
        ("", "KeyError", "KeyError"),
        (" \n.\n", "KeyError", "KeyError"),
    ],
)  # fmt: skip
def test_first_and_last_line(message, first, last):
    class MessageError(KeyError):
        def __str__(self):
            return message

    MessageError.__name__ = "KeyError"
    assert (first_line(MessageError()), last_line(MessageError())) == (first, last)
