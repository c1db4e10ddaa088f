"""`admiral titles`."""

import json
import os
import pty

import pytest
from click.testing import CliRunner

from admiral.cli.search import titles_command
from admiral.errors import AdmiralError
from admiral.kb import build

# In the order of rows; a tab within a title is stored as a space.
TITLES = ["Newark", "New York", "new wave", "Évian", "New Delhi", "New\tDeal", "Turn\u202eed"]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("titles")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"title": t, "text": "It is."}) + "\n" for t in TITLES))
    build([corpus], folder / "kb", bm25="none", progress=False)
    return folder / "kb"


def listed(kb, *arguments):
    result = CliRunner().invoke(titles_command, ["--kb", str(kb), *arguments])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout_bytes.decode("utf-8").split("\n")[:-1]


def test_titles_are_completed_in_order(kb):
    assert listed(kb, "New") == ["New Deal", "New Delhi", "New York", "Newark"]
    assert listed(kb, "New ") == ["New Deal", "New Delhi", "New York"]
    assert listed(kb, "  New\tDe") == ["New Deal", "New Delhi"]
    assert listed(kb, "New", "--limit", "2") == ["New Deal", "New Delhi"]
    assert listed(kb, "Évian") == ["Évian"]
    assert listed(kb) == listed(kb, "") == sorted(t.replace("\t", " ") for t in TITLES)


def test_records(kb):
    records = [json.loads(line) for line in listed(kb, "--json", "New ")]
    assert records == [
        {"title": "New Deal", "row": 5},
        {"title": "New Delhi", "row": 4},
        {"title": "New York", "row": 1},
    ]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_nothing_found(admiral, kb, form):
    done = admiral("titles", "NEW", "--kb", kb, *form)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(f"error: {kb}: no title begins with 'NEW'. ".encode())
    assert done.stderr.count(b"\n") == 1


def test_titles_are_escaped_only_on_a_terminal(admiral_process, kb):
    assert admiral_process("titles", "Turn", "--kb", kb).stdout == "Turn\u202eed\n".encode()
    ours, theirs = pty.openpty()
    try:
        done = admiral_process("titles", "Turn", "--kb", kb, stdout=theirs)
        assert (done.returncode, done.stderr) == (0, b"")
        assert os.read(ours, 100) == b"Turn\\u202eed\r\n"
    finally:
        os.close(ours)
        os.close(theirs)


def test_the_demo_is_the_default(admiral):
    done = admiral("titles", "66th")
    assert (done.returncode, done.stdout) == (0, b"66th Primetime Emmy Awards\n")


def test_errors(admiral, kb, tmp_path):
    result = CliRunner().invoke(titles_command, ["a", "--kb", str(tmp_path / "none")])
    assert isinstance(result.exception, AdmiralError)
    assert str(tmp_path / "none") in str(result.exception)
    result = CliRunner().invoke(titles_command, ["\udcff", "--kb", str(kb)])
    assert isinstance(result.exception, AdmiralError)
    assert "not text in this terminal's encoding" in str(result.exception)
    assert CliRunner().invoke(titles_command, ["a", "--limit", "0"]).exit_code == 2
