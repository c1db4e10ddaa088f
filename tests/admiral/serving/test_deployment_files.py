"""The unit of systemd and the container file: their commands exist with these options."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from admiral.cli.main import cli
from admiral.serving.retrieval_routes import health

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "configs" / "deploy" / "admiral.service"
CONTAINER = ROOT / "configs" / "deploy" / "Containerfile"


def options_of(words):
    """Return the options of a command line of `admiral serve`, as they are parsed."""
    program, name, *arguments = words
    assert program.endswith(".venv/bin/admiral")
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command.make_context(name, arguments).params


def instructions():
    lines = [line for line in CONTAINER.read_text().splitlines() if line and line[0] != "#"]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def unit():
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT.read_text())
    return parser["Service"]


def check_target(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target


def test_the_unit_starts_the_service():
    service = unit()
    options = options_of(shlex.split(service["ExecStart"]))
    assert options["kbs"] == ("/srv/kb",)
    assert service["LoadCredential"].split(":")[0] == options["api_keys"].name
    assert service["ExecStart"].startswith(service["WorkingDirectory"] + "/")
    assert int(service["TimeoutStopSec"]) > options["deadline"]
    for target in re.findall(r"`make (\S+)`", UNIT.read_text()):
        check_target(target)


def test_systemd_accepts_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    checked = tmp_path / UNIT.name
    # The command is not installed there.
    text = UNIT.read_text().replace("/srv/admiral/.venv/bin/admiral", sys.executable)
    checked.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", checked], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_builds_by_make_and_starts_the_service():
    found = dict(instructions())
    runs = [shlex.split(rest) for name, rest in instructions() if name == "RUN"]
    targets = [words[1] for words in runs if words[0] == "make"]
    assert targets
    for target in targets:
        check_target(target)
    options = options_of(json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"]))
    assert str(options["port"]) == found["EXPOSE"]
    address = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", found["HEALTHCHECK"])
    assert address is not None
    assert address[1] == found["EXPOSE"]
    assert address[2] in {route.path for route in health.routes}
    users = [rest for name, rest in instructions() if name == "USER"]
    assert users == ["65534:65534"]  # nobody
    # What is written lies in the only folder that the documented command makes writable.
    (command,) = re.findall(
        r"^docker run .*?admiral$", (ROOT / "docs" / "serving.md").read_text(), re.M | re.S
    )
    assert {"--read-only", "--cap-drop", "no-new-privileges"} <= set(command.split())
    (writable,) = re.findall(r"--tmpfs (\S+)", command)
    variables = dict(each.split("=") for each in found["ENV"].split())
    assert variables["XDG_CACHE_HOME"].startswith(f"{writable}/")
