"""`admiral report` writes a page, or reports an error in one line."""

import json
import os

from admiral.records import Claim
from tests.admiral.evaluation.small_runs import written
from tests.admiral.results import result

CLAIM = {"id": 7, "claim": "Ada wrote.", "evidence": [["Seth Meyers", 0]]}


def test_a_page_is_written(admiral, tmp_path):
    results = written(tmp_path / "r.jsonl", [result(Claim("7", "Ada wrote.")).to_json()])
    gold, out = written(tmp_path / "g.jsonl", [CLAIM]), tmp_path / "r.html"
    assert admiral("report", results, "--output", out).returncode == 0
    assert "evidence sufficient" in out.read_text(encoding="utf-8")
    done = admiral("report", results, "--gold", gold, "--output", out)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"{out}: 1 claim\n"
    said = "Seth Meyers is an American comedian"  # only the knowledge base knows
    assert said not in out.read_text(encoding="utf-8")
    assert (
        admiral("report", results, "--gold", gold, "--output", out, "--kb", "demo").returncode == 0
    )
    assert said in out.read_text(encoding="utf-8")
    settings = {"settings": {"kb": "demo"}}
    (tmp_path / "r.jsonl.settings.json").write_text(json.dumps(settings))
    assert admiral("report", results, "--gold", gold, "--output", out).returncode == 0
    assert said in out.read_text(encoding="utf-8")


def test_errors_are_one_line_and_leave_nothing(admiral, tmp_path):
    results = written(tmp_path / "r.jsonl", [result(Claim("7", "Ada wrote.")).to_json()])
    gold = written(tmp_path / "g.jsonl", [CLAIM])
    other = written(tmp_path / "o.jsonl", [{**CLAIM, "id": 9}])
    out, pipe = tmp_path / "r.html", tmp_path / "pipe"
    os.mkfifo(pipe)
    for arguments, message in (
        (["--gold", gold, "--output", gold], b"is the input as well"),
        (["--gold", gold, "--output", tmp_path / "no" / "r.html"], b"does not exist"),
        (["--gold", gold, "--output", pipe], b"is not a regular file"),
        (["--gold", gold, "--output", out, "--kb", tmp_path], b"which is read. Choose another"),
        (["--gold", other, "--output", out], b"no claim of the gold file is among"),
        (["--gold", gold, "--output", out, "--kb", tmp_path / "kb"], b"kb"),
    ):
        done = admiral("report", results, *arguments)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert not out.exists()
    assert pipe.is_fifo()
    assert gold.read_text().startswith("{")
