"""`admiral experiment` on the command line."""

import json
import subprocess
import sys
import time

from admiral.config import RetrievalConfig
from tests.admiral.evaluation.small_runs import written

TEXT = """
title: Small
task: demo
kb: small
claims: ${data}/claims.jsonl
knowledge_bases: {small: {corpus: "${data}/corpus.jsonl"}}
systems:
  - {name: BM25, baseline: bm25}
paper: {table: 7, columns: [recall], rows: {Other: [93.5], Further: [null]}, note: Of old.}
"""


def test_experiment(admiral, tmp_path):
    corpus = [{"title": title, "sentences": [f"{title} is a town."]} for title in ("Aa", "Bb")]
    claims = [{"id": t, "claim": f"{t} is a town.", "evidence": [[t, 0]]} for t in ("Aa", "Bb")]
    written(tmp_path / "corpus.jsonl", corpus)
    written(tmp_path / "claims.jsonl", claims)
    file, out = tmp_path / "e.yaml", tmp_path / "out"
    file.write_text(TEXT)
    arguments = ("experiment", file, "--data", tmp_path, "--out", out)
    done = admiral(*arguments, "--limit", 1, "--set", "seed=4")
    title, _, heading, _, row, *others, path = done.stdout.decode().splitlines()
    assert (done.returncode, title, path) == (0, "Small", f"{out}/experiment.json")
    assert [cell.strip() for cell in heading.split("|")][1:4] == ["system", "claims", "number"]
    assert row.startswith("| BM25   | ")
    assert len(row) == len(heading)
    assert "The paper's figures (table 7):" in others
    assert "| Other   | –    | 93.5   |" in others
    assert "Of old." in others
    assert b"BM25 (1 of 1)" in done.stderr
    kept = json.loads((out / "experiment.json").read_text())
    assert (kept["claims"]["used"], kept["seeds"]["bootstrap"]) == (1, 4)
    assert kept["overrides"] == ["seed=4", "limit=1"]
    assert (tmp_path / "kbs" / "small" / "manifest.json").exists()
    done = admiral(*arguments)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"--resume" in done.stderr
    assert admiral(*arguments, "--resume", "--overwrite").returncode == 2
    done = admiral("experiment", file)
    assert done.returncode == 1
    assert b"Give --data DIR" in done.stderr


def test_a_job_process_ends_with_its_parent(environment, tmp_path):
    output, note = tmp_path / "results.jsonl", tmp_path / "run.json"
    partial = output.with_name(output.name + ".partial")
    job = {
        "work": "retrieve",
        "config": RetrievalConfig(reranker="bm25", title_beams=0, beam_size=4).model_dump(),
        "baseline": None,
        "claims": [(str(i), "Seth Meyers hosted the Emmy Awards.") for i in range(5_000)],
        "output": str(output),
        "overwrite": False,
        "quiet": True,
    }
    command = [sys.executable, "-m", "admiral.experiments.job_process", str(note)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        deadline = time.monotonic() + 120
        while not (partial.exists() and b"\n" in partial.read_bytes()):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.stdin.close()  # as when the other process was killed
        assert process.wait(timeout=60) == 1
    assert not output.exists()
    assert not note.exists()


QUESTIONS = """
title: Questions
task: qa
kb: passages
claims: ${data}/questions.json
knowledge_bases: {passages: {corpus: "${data}/corpus.json", on_duplicate: merge}}
ks: [1, 2]
systems:
  - {name: BM25, baseline: bm25}
"""


def test_an_experiment_on_files_of_hipporag(admiral, tmp_path):
    texts = {"Salt Mill": "It was drawn by Ida Penn.", "Ida Penn": "Born in Ulm.", "Ulm": "A town."}
    passages = [{"title": title, "text": text, "idx": 0} for title, text in texts.items()]
    passages.append({"title": "Ida Penn", "text": "She drew the Salt Mill."})
    (tmp_path / "corpus.json").write_text(json.dumps(passages, indent=4))
    question = "Where was the architect of the Salt Mill, Ida Penn, born?"
    facts = [["Salt Mill", 0], ["Ulm", 0]]
    paragraphs = [{"title": title, "paragraph_text": "x"} for title in ("Ida Penn", "Salt Mill")]
    questions = [
        {"_id": "a", "question": question, "answer": "Ulm", "supporting_facts": facts},
        {"_id": "b", "question": question, "answer": "Ulm", "paragraphs": paragraphs},
    ]
    (tmp_path / "questions.json").write_text(json.dumps(questions))
    file, out = tmp_path / "e.yaml", tmp_path / "out"
    file.write_text(QUESTIONS)
    done = admiral("experiment", file, "--data", tmp_path, "--out", out)
    assert done.returncode == 0, done.stderr
    kept = json.loads((out / "experiment.json").read_text())
    (system,) = kept["systems"]
    assert system["kb"]["documents"] == 3
    found = {one["name"]: one["groups"][0]["value"] for one in system["measures"]}
    # The first two documents are both gold for one question, and one of them for the other.
    assert (found["R@2"], found["recall@2"]) == (0.75, 0.5)
    arguments = ("--gold", tmp_path / "questions.json", "--predictions", out / "bm25/results.jsonl")
    done = admiral("evaluate", "qa", *arguments, "--k", 2, "--json")
    evaluated = {one["name"]: one for one in json.loads(done.stdout)["measures"]}
    assert evaluated["R@2"]["groups"][0]["value"] == 0.75
