"""Write docs/results.md: the tables of `benchmarks.compare_systems` with the bundled weights.

Run as ``make results DATA=...``. What these weights have answered already is not run again. With
``--only NAME``, the other sections of the page stay as they are.
The page names the bundled weights by their checksums; a test compares these with the weights that
are there, so that figures of an earlier edition are noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks.compare_systems import compare, read_description

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
[evaluation.md](evaluation.md) defines the measures and says how to make one table. In brackets
are 95% intervals, by bootstrap over claims. Recall, exact match and F1 are of documents: recall@k
is the share of claims with all gold documents among the first k. "Insufficient precision" and
"recall" say how well incomplete evidence is recognised, over all hops that were made. Other
work ran on the machine, so seconds are upper limits: [scale.md](scale.md) says what makes a claim
cheaper.

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


def section(name: str, data: Path, runs: Path, limit: int) -> Iterator[str]:
    """Yield the lines of one experiment."""
    file = f"configs/experiments/{name}.yaml"
    content = read_description(ROOT / file, data, [f"limit={limit}"])
    option = "" if name == "demo" else " --data DATA"
    yield f"## {content['title']}"
    yield ""
    yield f"    python -m benchmarks.compare_systems {file}{option} --limit {limit}"
    yield ""
    answers = hashlib.sha256("".join(weights_lines()).encode()).hexdigest()[:12]
    yield from compare(content, runs / answers / name, runs / "kbs")
    yield ""


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
    """Run the experiments that --runs does not have yet, and write the page."""
    lines = [INTRODUCTION, "Measured with", "", *weights_lines(), ""]
    kept = sections_of(out) if only else {}
    for name in EXPERIMENTS:
        if not only or name in only:
            lines += section(name, data, runs, limit)
        else:
            lines += kept.get(name, [])
    out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
