"""Run the programs that build training data, and the claims of the demo."""

from importlib import resources
from pathlib import Path

from click.testing import CliRunner

CLAIMS = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def run_program(program, *arguments):
    """Run a program with command line arguments."""
    return CliRunner().invoke(program, [str(argument) for argument in arguments])
