"""The system answers what the golden files say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.parts import PARTS

ROOT = Path(__file__).parents[2]


def check(*arguments):
    """Run the check in a process of its own, so that other tests do not set its threads."""
    command = [sys.executable, "-m", "tests.golden.golden", "check", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_answers_of_each_part():
    check("--quick")


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_all_answers(name):
    check(name)
