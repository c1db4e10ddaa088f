"""The script of the whole story: its steps are programs that exist, in an order that works."""

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from admiral.cli.main import cli
from training.__main__ import TRAINERS, main

ROOT = Path(__file__).parents[2]
#: Notes a command, and makes its output: the last argument, or what is trained.
RECORDER = """#!/bin/sh
printf '%s\\t' "$(basename "$0")" "$@" >> calls.tsv
echo >> calls.tsv
for last; do :; done
case "$last" in runs/*) mkdir -p "$(dirname "$last")" && touch "$last" ;; esac
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    (folder / "bin").mkdir()
    for name in ("admiral", "python", "accelerate"):
        (folder / "bin" / name).write_text(RECORDER)
        (folder / "bin" / name).chmod(0o755)
    (folder / "data" / "hover").mkdir(parents=True)
    for name in ("claims.dev.jsonl", "corpus-43k.jsonl.gz", "corpus-367k.jsonl.xz"):
        (folder / "data" / "hover" / name).touch()
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    command = [shutil.which("bash"), ROOT / "training" / "run_all.sh"]
    stages = "mini,encoder,verifier,reader"
    for data, status in (("nowhere", 1), ("data", 0)):
        done = subprocess.run(
            [*command, stages, data], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
    return [line.strip().split("\t") for line in (folder / "calls.tsv").read_text().splitlines()]


def test_every_step_is_a_program_with_its_options(calls):
    begin = {"admiral": 0, "python": 2, "accelerate": 3}  # of the name of the command
    for program, *arguments in calls:
        group = cli if program == "admiral" else main
        name, *arguments = arguments[begin[program] :]
        command = group.get_command(click.Context(group), name)
        assert command is not None, name
        values, rest, _ = command.make_parser(click.Context(command)).parse_args(arguments)
        assert rest == [], (name, rest)
        missing = [p.name for p in command.params if p.required and not values.get(p.name)]
        assert missing == [], name
        if name in TRAINERS:
            assert (ROOT / values["path"]).is_file()


def test_what_a_step_reads_is_there(calls):
    made = set()
    for step in calls:
        if step[0] == "accelerate":
            made.add(step[-1])
            continue
        for argument in step[1:-1]:
            path = argument.rpartition(":")[2]
            if path.startswith("runs/") and path.endswith(".jsonl"):
                assert path in made | {"runs/samples.jsonl"}, step
        made.add(step[-1])
