"""The proofs of docs/proofs.md are what `admiral prove` prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from admiral.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"
# A command with its continued lines, an empty line, and what it prints from the proof on.
EXAMPLES = re.findall(
    r"^(    admiral prove (?:.*\\\n)*.*\n)\n"
    r"(    Proof\n(?:(?:    .*)?\n)*?    The proof's verdict.*\n)",
    PAGE.read_text(encoding="utf-8"),
    re.M,
)


def words(text: str) -> str:
    return " ".join(text.split())


def test_there_are_five() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_the_command_prints_the_proof(
    command: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command.replace("\\\n", " "))[1:]) == 0
    # Lines are broken by the width of the terminal.
    assert words(shown) in words(capsys.readouterr().out)
