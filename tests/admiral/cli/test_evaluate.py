"""`admiral evaluate`, `compare` and `report` on small runs."""

import json
import os

import ir_measures
import pytest
from click.testing import CliRunner

from admiral.cli.evaluate import compare_command, evaluate_command
from admiral.records import Claim
from tests.admiral.evaluation.small_runs import record, written
from tests.admiral.results import result

CLAIMS = [
    {"id": n, "claim": "c", "label": "SUPPORTS", "evidence": [[[1, 2, title, 0]]]}
    for n, title in enumerate("ABCD", 1)
]


@pytest.fixture
def gold(tmp_path):
    return written(tmp_path / "gold.jsonl", CLAIMS)


@pytest.fixture
def run(tmp_path):
    records = [record(str(n), (title, 0), ranking=title) for n, title in enumerate("ABX", 1)]
    return written(tmp_path / "run.jsonl", records)


def test_evaluate_prints_a_table(admiral, gold, run):
    done = admiral("evaluate", "fever", "--gold", gold, "--predictions", run, "--k", 2, "--k", 1)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert text.startswith("FEVER, 4 claims\n- 1 claim ('4') without an answer, counted as wrong\n")
    rows = {
        line.split("  ")[1]: line.split()[-2:] for line in text.splitlines() if line[:2] == "  "
    }
    assert rows["recall@1"] == rows["recall@2"] == ["0.500", "0.500"]
    assert rows["FEVER score"] == ["0.500", "0.500"]
    assert "recall@5" not in rows


def test_evaluate_prints_a_record(admiral, gold, run):
    command = ("evaluate", "fever", "--gold", gold, "--predictions", run, "--json", "--intervals")
    done = admiral(*command)
    found = json.loads(done.stdout)
    assert (done.returncode, found["task"], found["groups"][0]) == (
        0, "fever", {"name": "all", "claims": 4}
    )  # fmt: skip
    score = next(m for m in found["measures"] if m["name"] == "FEVER score")["groups"][0]
    assert score["value"] == 0.5
    assert 0 <= score["low"] < 0.5 < score["high"] <= 1
    assert admiral(*command).stdout == done.stdout
    assert admiral(*command, "--seed", 1).returncode == 0


def test_submissions_are_written_with_and_without_gold(admiral, gold, run, tmp_path):
    out = tmp_path / "s.jsonl"
    done = admiral("evaluate", "fever", "--gold", gold, "--predictions", run, "--submission", out)
    assert done.returncode == 0
    assert len(out.read_text().splitlines()) == 4
    done = admiral("evaluate", "feverous", "--predictions", run, "--submission", out)
    assert (done.returncode, done.stdout) == (0, b"")
    assert len(out.read_text().splitlines()) == 3
    done = admiral("evaluate", "kilt", "--predictions", run, "--submission", out)
    assert b"claim '1': its prediction has a document without id" in done.stderr
    done = admiral("evaluate", "qa", "--predictions", run, "--submission", out)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"task qa: is no shared task with submissions; there are fever" in done.stderr
    done = admiral("evaluate", "fever", "--predictions", run)
    assert done.returncode == 2
    assert b"Give --gold FILE, or --submission" in done.stderr


def test_a_blind_file_gives_the_order_of_a_submission(admiral, run, tmp_path):
    blind = written(tmp_path / "blind.jsonl", [{"id": n, "claim": "c"} for n in (9, 3, 1)])
    out = tmp_path / "s.jsonl"
    command = ("evaluate", "fever", "--gold", blind, "--predictions", run)
    done = admiral(*command, "--submission", out)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"a blind test, of which only the submission is written" in done.stderr
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [9, 3, 1]
    done = admiral(*command)
    assert done.returncode == 1
    assert b"add --submission FILE" in done.stderr


def test_errors_are_one_line(admiral, gold, run, tmp_path):
    done = admiral("evaluate", "hover", "--gold", gold, "--predictions", run)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"has the format fever" in done.stderr
    assert done.stderr.count(b"\n") == 1
    other = written(tmp_path / "other.jsonl", [record("x9")])
    for command in (
        ("evaluate", "fever", "--gold", gold, "--predictions", other),
        ("compare", run, other, "--gold", gold),
    ):
        done = admiral(*command)
        assert done.returncode == 1
        assert b"no claim of the gold file is among" in done.stderr
    done = admiral("evaluate", "fever", "--gold", tmp_path / "no", "--predictions", run)
    assert done.returncode == 1
    assert b"cannot be read" in done.stderr


def test_compare_prints_differences(admiral, gold, run, tmp_path):
    better = written(
        tmp_path / "better.jsonl",
        [record(str(n), (t, 0), ranking=t) for n, t in enumerate("ABCD", 1)],
    )
    done = admiral("compare", run, better, "--gold", gold, "--k", 1, "--by-hops")
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "- first: 1 claim ('4') without an answer" in text
    assert "1 document" in text
    row = next(line for line in text.splitlines() if line.startswith("  recall@1"))
    assert row.split()[1:4] == ["0.500", "1.000", "+0.500"]
    done = admiral("compare", run, better, "--gold", gold, "--json")
    score = next(d for d in json.loads(done.stdout)["differences"] if d["name"] == "FEVER score")
    # Two of four claims differ: one in two exchanges of them differs as much.
    assert score["difference"] == 0.5
    assert score["p"] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("option", [("--seed", "-1"), ("--k", "999999999999999999999")])
def test_huge_numbers_are_wrong_usage(option, gold, run, tmp_path):
    evaluate = ["fever", "--gold", str(gold), "--predictions", str(run), "--intervals"]
    compare = [str(run), str(run), "--gold", str(gold)]
    for command, arguments in ((evaluate_command, evaluate), (compare_command, compare)):
        done = CliRunner().invoke(command, [*arguments, *option])
        assert done.exit_code == 2
        assert f"'{option[0]}'" in done.output


CORPUS = (
    ("MED-10", "Mercury", "Mercury is the planet closest to the Sun."),
    ("MED_2%", "Mercury", "Mercury is a metal that is liquid at room temperature."),
    ("4983", "", "Venus is the hottest planet."),
    ("x", "Mars", "Mars is called the red planet because of rust."),
)
QUERIES = (("PLAIN-1", "Which planet is closest to the Sun?"), ("PLAIN-2", "a liquid metal"))
QRELS = (("PLAIN-1", "MED-10", 2), ("PLAIN-1", "4983", 1), ("PLAIN-2", "MED_2%", 1))


def _write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))


def test_a_data_set_from_its_folder_to_its_scores(admiral, tmp_path):
    data, kb = tmp_path / "planets", tmp_path / "kb"
    _write(
        data / "corpus.jsonl", (json.dumps({"_id": i, "title": t, "text": x}) for i, t, x in CORPUS)
    )
    _write(data / "queries.jsonl", (json.dumps({"_id": i, "text": x}) for i, x in QUERIES))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in QRELS)]
    _write(data / "qrels" / "test.tsv", rows)
    done = admiral("index", data, "--kb", kb, "--bm25", "bm25s")
    assert done.returncode == 0, done.stderr.decode()

    output, run = tmp_path / "results.jsonl", tmp_path / "run.trec"
    given = ("--kb", kb, "--input", data / "queries.jsonl", "--output", output, "--trec", run)
    done = admiral("retrieve", *given, "--hops", "0", "--set", "generator=false")
    assert done.returncode == 0, done.stderr.decode()
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [record["id"] for record in records] == ["PLAIN-1", "PLAIN-2"]
    assert [record["documents"][0]["id"] for record in records] == ["MED-10", "MED_2%"]
    lines = [line.split() for line in run.read_text().splitlines()]
    assert {line[2] for line in lines} <= {id for id, _, _ in CORPUS}

    names = ["AP", "R@10", "RR", "nDCG@10"]
    expected = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(name) for name in names],
        [ir_measures.Qrel(query, document, grade) for query, document, grade in QRELS],
        ir_measures.read_trec_run(str(run)),
    )
    for predictions in (output, run):
        gold = ("--gold", data / "qrels" / "test.tsv", "--predictions", predictions)
        done = admiral("evaluate", "qrels", *gold, "--k", "10", "--json")
        assert done.returncode == 0, done.stderr.decode()
        measures = json.loads(done.stdout)["measures"]
        values = {m["name"]: m["groups"][0]["value"] for m in measures}
        assert values == pytest.approx({str(m): v for m, v in expected.items()}, abs=1e-6)


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
        (["--gold", gold, "--output", tmp_path / "no" / "r.html"], b"cannot be written: No such"),
        (["--gold", gold, "--output", pipe], b"is not a regular file"),
        (["--gold", other, "--output", out], b"no claim of the gold file is among"),
        (["--gold", gold, "--output", out, "--kb", tmp_path / "kb"], b"kb"),
    ):
        done = admiral("report", results, *arguments)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert not out.exists()
    assert pipe.is_fifo()
