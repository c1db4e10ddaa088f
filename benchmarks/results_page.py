"""Write docs/results.md from the records of `admiral experiment`.

Run as ``make results DATA=...``. What is in ``runs/results`` already is not run again. With
``--only NAME``, the other sections of the page stay as they are.
The page names the bundled weights by their checksums; a test compares these with the weights that
are there, so that figures of an earlier edition are noticed.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from admiral.experiments.experiment_record import differences, measured, published

ROOT = Path(__file__).parents[1]
WEIGHTS = {
    "mini": ROOT / "admiral" / "data" / "mini" / "model.safetensors",
    "mini-encoder": ROOT / "admiral" / "data" / "mini-encoder" / "model.safetensors",
    "mini-verifier": ROOT / "admiral" / "data" / "mini-verifier" / "verifier.onnx",
}
EXPERIMENTS = [
    "demo",
    "table2-7-hover",
    "table2-7-fever",
    "table2-7-feverous",
    "table3-variants",
    "table4-adversarial",
    "table5-initial",
    "table6-sufficiency",
]
INTRODUCTION = """\
# Results

`make results DATA=DATA` measures the bundled models and writes this page;
[evaluation.md](evaluation.md) defines the measures, and
[running-experiments.md](running-experiments.md) describes the files. In brackets are 95%
intervals, by bootstrap over claims. Recall, exact match and F1 are of documents: recall@k is the
share of claims with all gold documents among the first k. "Insufficient precision" and "recall"
say how well incomplete evidence is recognised, over all hops that were made. Other work ran on
the machine, so seconds are upper limits: [scale.md](scale.md) says what makes a claim cheaper.

The paper's figures stand below ours where it has such a table. They are not comparable in
absolute terms: the paper trains large models on each data set and searches 5.2 million
introductions, while the bundled model has 30 million weights and searches the smaller corpora
that each section names. BM25 beside it shows how much easier these are.
"""


def checksum(path: Path) -> str:
    """Return the first twelve digits of the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def weights_lines() -> list[str]:
    """Return a line for each bundled model, with its checksum."""
    return [f"- `{name}`: weights {checksum(path)}" for name, path in WEIGHTS.items()]


def sections(record: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one experiment."""
    name = record["file"].removesuffix(".yaml")
    data = "" if name == "demo" else " --data DATA"
    used, run = record["claims"]["used"], record["systems"][-1]["run"]
    bases = {s["kb"]["name"]: f"{s['kb']['documents']:,} documents" for s in record["systems"]}
    yield f"## {record['title']}"
    yield ""
    yield f"    admiral experiment configs/experiments/{name}.yaml{data} --limit {used}"
    yield ""
    yield (
        f"{used} claims of `{record['claims']['file']}` over "
        f"{', '.join(f'{size} (`{kb}`)' for kb, size in bases.items())}; "
        f"{run['date']}, commit {run['commit'][:12]}, {run['hardware']}."
    )
    yield ""
    yield from measured(record)
    if record["reference"]:
        yield ""
        yield from differences(record)
    if record["paper"]:
        yield ""
        yield from published(record["paper"])
    yield ""


def changed_since(commit: str) -> bool:
    """Return whether bundled weights differ from those of a commit."""
    command = ["git", "-C", str(ROOT), "diff", "--quiet", commit, "--"]
    return subprocess.run([*command, *map(str, WEIGHTS.values())], check=False).returncode != 0


def run(name: str, data: Path, out: Path, kbs: Path, limit: int) -> dict[str, Any]:
    """Return the record of an experiment, which is run unless it is there."""
    file = out / "experiment.json"
    if not file.is_file():
        options = ["--data", data, "--kbs", kbs, "--out", out, "--limit", limit, "--resume"]
        command = [sys.executable, "-m", "admiral", "experiment"]
        subprocess.run(
            [*command, str(ROOT / "configs" / "experiments" / f"{name}.yaml"), *map(str, options)],
            check=True,
        )
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    for system in record["systems"]:
        commit = system["run"]["commit"].rstrip("+")
        if changed_since(commit):
            raise click.ClickException(
                f"{file}: measured at {commit[:12]} with other bundled weights. Delete {out}, and "
                "run this again"
            )
    return record


def sections_of(page: Path) -> dict[str, list[str]]:
    """Return the lines of each section of the page, by the name of the experiment.

    Raises ClickException if the page is of other weights than the bundled ones.
    """
    text = page.read_text(encoding="utf-8")
    if not set(weights_lines()) <= set(text.splitlines()):
        raise click.ClickException(f"{page}: is of other bundled weights. Measure without --only")
    found = {}
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        name = re.search(r"configs/experiments/([\w-]+)\.yaml", section)
        if name is not None:
            found[name[1]] = [*section.rstrip("\n").split("\n"), ""]
    return found


@click.command()
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--runs", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("--limit", default=48, show_default=True, help="Claims of each experiment.")
@click.option("--out", default=ROOT / "docs" / "results.md", type=click.Path(path_type=Path))
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(EXPERIMENTS),
    help="Experiment to measure; the other sections stay. Repeatable; default: all.",
)
def main(data: Path, runs: Path, limit: int, out: Path, only: tuple[str, ...]) -> None:
    """Run the experiments whose records are not in --runs, and write the page."""
    lines = [INTRODUCTION, "Measured with", "", *weights_lines(), ""]
    kept = sections_of(out) if only else {}
    for name in EXPERIMENTS:
        if not only or name in only:
            lines += sections(run(name, data, runs / name, runs / "kbs", limit))
        else:
            lines += kept.get(name, [])
    out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
