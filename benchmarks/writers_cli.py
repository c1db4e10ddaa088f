"""Writers of the command line's files, for the fault injection."""

from __future__ import annotations

import hashlib
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from admiral.cli.main import main as admiral
from benchmarks.writer import ABSENT, Writer, files_seen
from benchmarks.writers_kb import corpus, nothing, some_kb


def command(folder: Path, *words: str) -> None:
    """Run the command line in a folder; its exit status is the process's."""
    os.chdir(folder)
    if status := admiral(words):
        raise SystemExit(status)


def records_seen(folder: Path, name: str) -> Any:
    """Read a file of records, whose times differ from run to run, and the settings beside it."""
    if not (folder / name).exists():
        return ABSENT
    records = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    settings = json.loads((folder / f"{name}.settings.json").read_text())
    for record in records:
        for hop in record.get("hops", ()) if isinstance(record.get("hops"), list) else ():
            hop["seconds"] = 0
    return [hashlib.sha256(json.dumps(one).encode()).hexdigest() for one in (records, settings)]


QUICK = ("--set", "title_beams=0", "--reranker", "bm25", "--judge", "never", "--hops", "1")


def claims(folder: Path, count: int = 4) -> None:
    """Build a knowledge base and write claims about it."""
    some_kb(folder)
    lines = (json.dumps({"claim": f"Document {n} is about {n}."}) for n in range(count))
    (folder / "claims.jsonl").write_text("\n".join(lines))


def answer(folder: Path, *words: str) -> None:
    """Answer the claims, with a TREC run besides."""
    command(
        folder,
        *("retrieve", "--kb", "kb", "--input", "claims.jsonl", "--output", "results.jsonl"),
        *("--trec", "run.trec", "--quiet", *QUICK, *words),
    )


def answer_anew(folder: Path) -> None:
    """Answer them whatever is there."""
    answer(folder, "--overwrite")


def answered(folder: Path) -> None:
    """Answer them with other settings first."""
    claims(folder)
    answer(folder, "--top-k", "5")


def half_answered(folder: Path) -> None:
    """Answer them as a run does that is killed behind the second one."""
    claims(folder)
    answer(folder)
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "results.jsonl.partial").write_bytes(b"".join(lines[:2]) + lines[2][:99])
    for name in ("results.jsonl", "run.trec"):
        (folder / name).unlink()


def answers_seen(folder: Path) -> Any:
    """Read results and TREC run."""
    return [records_seen(folder, "results.jsonl"), *files_seen(folder, ["run.trec"])]


def may_lack_trec(seen: Any) -> bool:
    """Whether the results are there whole, and of the TREC run the old one or none."""
    return bool(seen[0] != ABSENT)


def synthesize(folder: Path) -> None:
    """Write claims over the demo."""
    command(folder, "synthesize", "--kb", "demo", "--count", "40", "--output", "claims.jsonl")


def run_before(folder: Path) -> None:
    """Answer demo claims, to report on."""
    demo_claims = (Path(__file__).parents[1] / "admiral/data/demo/claims.jsonl").read_text()
    (folder / "gold.jsonl").write_text("\n".join(demo_claims.splitlines()[:4]))
    words = ("--input", "gold.jsonl", "--output", "results.jsonl", "--quiet", *QUICK)
    command(folder, "retrieve", *words)
    (folder / "page.html").write_text("old")


def report(folder: Path) -> None:
    """Write the page of that run."""
    command(folder, "report", "results.jsonl", "--gold", "gold.jsonl", "--output", "page.html")


EXPERIMENT = """
title: Faults
task: demo
kb: small
claims: ${data}/claims.jsonl
ks: [1, 2]
knowledge_bases: {small: {corpus: "${data}/old.jsonl"}}
systems: [{name: BM25, baseline: bm25}]
"""


def experiment_before(folder: Path) -> None:
    """Describe an experiment."""
    corpus(folder / "old.jsonl", 0, 50)
    lines = (
        {"id": str(n), "claim": f"About {n * n}.", "evidence": [[f"Title {n}", 0]]}
        for n in range(4)
    )
    (folder / "claims.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "e.yaml").write_text(EXPERIMENT)


def experiment(folder: Path) -> None:
    """Run it, or go on."""
    words = ("--out", "out", "--data", str(folder), "--kbs", "kbs", "--quiet", "--resume")
    command(folder, "experiment", "e.yaml", *words)


def experiment_seen(folder: Path) -> Any:
    """Read the record of the experiment."""
    if not (folder / "out/experiment.json").exists():
        return ABSENT
    record = json.loads((folder / "out/experiment.json").read_text())
    return [system["name"] for system in record["systems"]] + [record["claims"]]


WRITERS = (
    Writer("retrieve", claims, answer, answers_seen, between=may_lack_trec),
    Writer("retrieve anew", answered, answer_anew, answers_seen, between=may_lack_trec),
    Writer("retrieve on", half_answered, answer, answers_seen, between=may_lack_trec),
    Writer("synthesize", nothing, synthesize, partial(records_seen, name="claims.jsonl")),
    Writer("report", run_before, report, partial(files_seen, names=["page.html"])),
    Writer("experiment", experiment_before, experiment, experiment_seen, share=3),
)
