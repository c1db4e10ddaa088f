"""Run the programs that build training data, and the claims of the demo."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click
from click.testing import CliRunner, Result

CLAIMS = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def run_program(program: click.Command, *arguments: object) -> Result:
    """Run a program with command line arguments."""
    return CliRunner().invoke(program, [str(argument) for argument in arguments])
