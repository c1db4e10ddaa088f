"""The token trie beside a marisa trie and nested dicts of the same sequences, in one run.

    python -m benchmarks.trie_comparison [--titles TITLES.gz] [--count 5400000]

Each is built in a process of its own and opened in another one, whose growth is its memory; while
that one has it open, a second process opens it, too, whose growth without what the two share is the
last line. Opening the token trie checks it; the others are not checked. The marisa trie spells each
token as a character, the dicts are kept as Python's own `marshal` data. Building includes writing.
Beyond the number of titles in the file, others with the same statistics of tokens are generated
(`benchmarks.titles`). All times are processor times, the best of several runs, so that other work
on the machine counts little. Dicts of 5.4 million titles take 10 GB of memory while the second
process has them open.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.dev_extra import psutil
from benchmarks.timing import best
from benchmarks.titles import Titles
from benchmarks.trie_contenders import CONTENDERS, Contender

_CHECKED, _DEPTH, _SECONDS = 1000, 2, 0.5


def opened(name: str, directory: Path) -> Contender:
    """Return a contender that was opened."""
    contender = CONTENDERS[name]()
    contender.open(directory)
    return contender


def measure(name: str, step: str, folder: Path) -> dict[str, Any]:
    """Build or open a contender in this process and return what it takes."""
    directory = folder / name
    if step == "build":
        saved = np.load(folder / "titles.npz")
        sequences = Titles(saved["flat"], saved["lengths"]).lists()
        directory.mkdir()
        empty = CONTENDERS[name]()
        seconds, _ = best(lambda: empty.build(sequences, directory), seconds=_SECONDS)
        return {"build": seconds, "disk": sum(f.stat().st_size for f in directory.iterdir())}
    process = psutil.Process()
    before = process.memory_full_info()
    contender = opened(name, directory)
    after = process.memory_full_info()
    if step == "second":
        return {"own": after.uss - before.uss}
    found = {"memory": after.rss - before.rss, **run(name, "second", folder)}
    prefixes = np.load(folder / "prefixes.npy").tolist()
    found["sum"] = sum(sum(contender.allowed(contender.state(prefix))) for prefix in prefixes)
    del contender
    found["open"], _ = best(lambda: opened(name, directory), seconds=_SECONDS)
    return found


def run(name: str, step: str, folder: Path) -> dict[str, Any]:
    """Take a measurement in another process."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.trie_comparison",
        "--measure",
        name,
        step,
        str(folder),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@click.command()
@click.option("--titles", type=click.Path(path_type=Path, exists=True), help="Text, or text.gz.")
@click.option("--count", type=int, help="Number of titles; by default, those that there are.")
@click.option(
    "--only", multiple=True, type=click.Choice(list(CONTENDERS)), default=list(CONTENDERS)
)
@click.option("--measure", "one", type=(str, str, click.Path(path_type=Path)), hidden=True)
def main(
    titles: Path | None,
    count: int | None,
    only: tuple[str, ...],
    one: tuple[str, str, Path] | None,
) -> None:
    """Measure and print."""
    if one:
        print(json.dumps(measure(*one), default=int))
        return
    spelt = Titles.spelt(titles)
    spelt = spelt.some(count or len(spelt))
    with tempfile.TemporaryDirectory(prefix="admiral-benchmark-") as name:
        folder = Path(name)
        np.savez(folder / "titles.npz", flat=spelt.flat, lengths=spelt.lengths)
        long = np.flatnonzero(spelt.lengths > _DEPTH)
        starts = (np.cumsum(spelt.lengths) - spelt.lengths)[long]
        some = np.random.default_rng(0).choice(starts, _CHECKED)
        np.save(folder / "prefixes.npy", spelt.flat[some[:, None] + np.arange(_DEPTH)])
        rows = {}
        for each in only:
            rows[each] = run(each, "build", folder) | run(each, "open", folder)
            print(f"{each}: {rows[each]}", file=sys.stderr)
    print(table(rows, len(spelt)))


def table(rows: dict[str, dict[str, Any]], titles: int) -> str:
    """Return the measurements as a table, those of the others with their ratio to the first."""
    units = {"build": ("build, s per million", 1e6 / titles), "open": ("open, ms", 1e3)}
    units["disk"] = ("disk, bytes per title", 1 / titles)
    units["memory"] = ("memory, bytes per title", 1 / titles)
    units["own"] = ("a second process, bytes per title", 1 / titles)
    lines = [f"{titles:,} titles", f"{'':36}" + "".join(f"{name:>25}" for name in rows)]
    for key, (label, factor) in units.items():
        first, *_ = (row[key] for row in rows.values())
        cells = [f"{row[key] * factor:,.1f} ({row[key] / first:,.1f}x)" for row in rows.values()]
        lines.append(f"{label:36}" + "".join(f"{cell:>25}" for cell in cells))
    same = len({row["sum"] for row in rows.values()}) == 1
    lines.append("they hold the same" if same else "THEY DO NOT HOLD THE SAME")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
