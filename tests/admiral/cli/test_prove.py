"""`admiral prove` end to end, with the bundled checkpoint."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

Admiral = Callable[..., subprocess.CompletedProcess[bytes]]

CLAIM = "Ada Lovelace was born in London."
ENOUGH = "[Ada Lovelace] Ada Lovelace was born in London in 1815."


def test_record(admiral: Admiral) -> None:
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--evidence", "It rained.", "--json")
    assert done.returncode == 0, done.stderr.decode()
    record = json.loads(done.stdout)
    assert record["claim"] == CLAIM
    assert record["evidence"] == [
        {"title": "Ada Lovelace", "text": "Ada Lovelace was born in London in 1815."},
        {"title": "", "text": "It rained."},
    ]
    assert " ".join(step["claim"] for step in record["proof"]).split() == CLAIM.split()
    assert record["sufficient"] == all(step["operator"] != "#" for step in record["proof"])


def test_readable(admiral: Admiral) -> None:
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--judge", "lexical")
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    assert "  [Ada Lovelace] Ada Lovelace was born in London in 1815.\n" in text
    assert 'says the same as "' in text
    assert text.endswith("The evidence is sufficient.\n")


def test_no_evidence_is_not_sufficient(admiral: Admiral) -> None:
    done = admiral("prove", CLAIM, "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["sufficient"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([""], "error: the claim: is empty"),
        ([CLAIM, "--evidence", "a", "--evidence", " "], "error: --evidence number 2: is empty"),
        (
            [CLAIM, "--judge", "judy"],
            "is not one of never, always, lexical, generated, ",
        ),
    ],
)
def test_bad_input_is_one_error(admiral: Admiral, arguments: list[str], says: str) -> None:
    done = admiral("prove", *arguments)
    assert done.returncode == 1
    assert says in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
