"""`admiral add`, `remove` and `compact`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from admiral.kb import build

Admiral = Callable[..., subprocess.CompletedProcess[bytes]]


def corpus(path: Path, *titles: str) -> Path:
    path.write_text("".join(json.dumps({"title": t, "text": "It is."}) + "\n" for t in titles))
    return path


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    titles = corpus(tmp_path / "titles.jsonl", "Bird", "Seed", "Nest")
    build(titles, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


def test_from_addition_to_compaction(admiral: Admiral, kb: Path, tmp_path: Path) -> None:
    more = corpus(tmp_path / "more.jsonl", "Egg", "Bird")
    done = admiral("add", more, "--kb", kb, "--on-duplicate", "replace", "--no-progress")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(f"{kb}: 4 documents, in ".encode())
    assert done.stdout.decode().splitlines()[1:] == [
        "added: 1",
        "replaced: 1",
        "waiting for `admiral compact`: 3",
    ]
    assert admiral("titles", "--kb", kb).stdout == b"Bird\nEgg\nNest\nSeed\n"
    (tmp_path / "gone.txt").write_text("Nest\nEmu\n")
    done = admiral(
        "remove",
        "Seed",
        "--titles",
        tmp_path / "gone.txt",
        "--ignore-missing",
        "--kb",
        kb,
        "--json",
    )
    record = json.loads(done.stdout)
    assert (record["path"], record["documents"]) == (str(kb), 2)
    assert (record["removed"], record["missing"], record["pending"]) == (2, 1, 5)
    shown = admiral("info", "--kb", kb).stdout.decode()
    assert "changed since    2 added, 3 removed\n" in shown
    assert admiral("verify", "--kb", kb).returncode == 0
    done = admiral("compact", "--kb", kb)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    assert admiral("titles", "--kb", kb).stdout == b"Bird\nEgg\n"
    assert admiral("verify", "--kb", kb).returncode == 0
    assert b"changed since" not in admiral("info", "--kb", kb).stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["remove", "Emu", "--kb", "KB"], 1, "error: KB: no document has the title 'Emu'. "),
        (["remove", "--kb", "KB"], 2, "Name the documents to remove: TITLE... or --titles FILE."),
        (["remove", "Emu", "--kb", "none"], 1, "error: none: no such knowledge base"),
        (["remove", "--titles", "none", "--kb", "KB"], 1, "error: none: cannot be read"),
        (["remove", "Bird"], 2, "Missing option '--kb'"),
        (["add", "--kb", "KB"], 2, "Missing argument 'CORPUS...'"),
        (["add", "none.jsonl", "--kb", "KB"], 1, "error: none.jsonl: no such file or folder"),
        (["add", "CORPUS", "--kb", "KB"], 1, "'Bird' is in the knowledge base already"),
        (["add", "CORPUS", "--kb", "KB", "--on-duplicate", "rename"], 1, "Choose one of error, re"),
        (["compact", "--kb", "none"], 1, "error: none: no such knowledge base"),
    ],
)
def test_bad_requests(
    admiral: Admiral, kb: Path, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    names = {"KB": str(kb), "CORPUS": str(corpus(tmp_path / "more.jsonl", "Bird"))}
    done = admiral(*(names.get(argument, argument) for argument in arguments), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, b"")
    assert message.replace("KB", str(kb)) in done.stderr.decode()
