"""The token trie beside a marisa trie and nested dicts of the same sequences, in one run.

    python -m benchmarks.trie [--titles TITLES.gz] [--tokenizer DIRECTORY] [--limit 100000]

Each is built in a process of its own and opened in another one, whose growth is its memory. The
marisa trie spells each token as a character, the dicts are kept as Python's own `marshal` data. A
mask says for each beam which tokens of the vocabulary may follow the title's first tokens. Building
includes writing. All times are processor times, the best of several runs, so that other work on the
machine counts little.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil

from admiral.checkpoint import locate_checkpoint
from benchmarks.trie_contenders import CONTENDERS, Contender, Sequences
from trie import Tokens

_BEAMS, _DEPTHS, _SECONDS = 25, (0, 1, 2, 3), 0.5


def best(work: Callable[[], object]) -> float:
    """Return the least processor time of `work`, in seconds, of up to 100 runs."""
    times: list[float] = []
    while len(times) < 100 and sum(times) < _SECONDS:
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def mask(contender: Contender, states: list[Any], vocabulary: int) -> np.ndarray[Any, Any]:
    """Return which tokens may follow each beam; (beams, vocabulary)."""
    allowed = np.zeros((len(states), vocabulary), dtype=bool)
    for beam, state in enumerate(states):
        allowed[beam, contender.allowed(state)] = True
    return allowed


def measure(name: str, step: str, folder: Path) -> dict[str, Any]:
    """Build or open a contender in this process and return what it takes."""
    contender, directory = CONTENDERS[name](), folder / name
    saved = np.load(folder / "sequences.npz")
    flat, lengths, vocabulary = saved["flat"], saved["lengths"], int(saved["vocabulary"])
    ends = np.cumsum(lengths)
    if step == "build":
        sequences = [
            flat[end - size : end].tolist()
            for end, size in zip(ends.tolist(), lengths.tolist(), strict=True)
        ]
        directory.mkdir()
        seconds = best(lambda: contender.build(sequences, directory))
        return {"build": seconds, "disk": sum(f.stat().st_size for f in directory.iterdir())}
    before = psutil.Process().memory_info().rss
    contender.open(directory)
    memory = psutil.Process().memory_info().rss - before
    found = {"memory": memory, "open": best(lambda: contender.open(directory))}
    for depth in _DEPTHS:
        long = np.flatnonzero(lengths > depth)
        some = np.random.default_rng(depth).choice(long, _BEAMS, replace=long.size < _BEAMS)
        prefixes = [flat[(start := ends[s] - lengths[s]) : start + depth].tolist() for s in some]
        states = [contender.state(prefix) for prefix in prefixes]
        found[f"mask {depth}"] = best(lambda states=states: mask(contender, states, vocabulary))  # type: ignore[misc]
        found[f"allowed {depth}"] = int(mask(contender, states, vocabulary).sum())
    return found


def read_titles(path: Path | None) -> Iterator[str]:
    """Yield the titles of a file, one a line, or those of the demo knowledge base."""
    if path is None:
        from admiral.kb import KnowledgeBase, demo_kb

        with KnowledgeBase.open(demo_kb()) as kb:
            yield from kb.titles()
        return
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        yield from filter(None, (line.rstrip("\n") for line in lines))


@click.command()
@click.option("--titles", type=click.Path(path_type=Path, exists=True), help="Text, or text.gz.")
@click.option("--tokenizer", default="mini", show_default=True, help="A checkpoint.")
@click.option("--limit", type=int, help="Only so many titles.")
@click.option("--measure", "one", type=(str, str, click.Path(path_type=Path)), hidden=True)
def main(
    titles: Path | None,
    tokenizer: str,
    limit: int | None,
    one: tuple[str, str, Path] | None,
) -> None:
    """Measure and print."""
    if one:
        print(json.dumps(measure(*one)))
        return
    tokens, stream = Tokens.load(locate_checkpoint(tokenizer)), islice(read_titles(titles), limit)
    sequences: Sequences = []
    while batch := list(islice(stream, 8192)):
        sequences += tokens.encode_batch(batch)
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="admiral-benchmark-") as name:
        flat = np.array([token for sequence in sequences for token in sequence], dtype=np.uint32)
        lengths = np.array([len(sequence) for sequence in sequences])
        np.savez(f"{name}/sequences.npz", flat=flat, lengths=lengths, vocabulary=tokens.size)
        for contender in CONTENDERS:
            for step in ("build", "open"):
                command = [sys.executable, "-m", "benchmarks.trie", "--measure", contender]
                done = subprocess.run([*command, step, name], stdout=subprocess.PIPE, check=True)
                rows.setdefault(contender, {}).update(json.loads(done.stdout))
    print(table(rows, len(sequences), tokens.size))


def table(rows: dict[str, dict[str, Any]], titles: int, vocabulary: int) -> str:
    """Return the measurements as a table, those of the others with their ratio to the first."""
    units = {"build": ("build, s per million", 1e6 / titles), "open": ("open, ms", 1e3)}
    units |= {"memory": ("memory, bytes per title", 1 / titles)}
    units |= {"disk": ("disk, bytes per title", 1 / titles)}
    for depth in _DEPTHS:
        allowed = rows["trie"][f"allowed {depth}"] / _BEAMS
        units[f"mask {depth}"] = (f"mask at depth {depth}, µs ({allowed:.0f} tokens)", 1e6)
    lines = [f"{titles:,} titles; masks for {_BEAMS} beams x {vocabulary:,} tokens"]
    lines.append(f"{'':36}" + "".join(f"{name:>25}" for name in rows))
    for key, (label, factor) in units.items():
        first = rows["trie"][key]
        cells = [f"{row[key] * factor:,.1f} ({row[key] / first:,.1f}x)" for row in rows.values()]
        lines.append(f"{label:36}" + "".join(f"{cell:>25}" for cell in cells))
    same = all(
        row[f"allowed {depth}"] == rows["trie"][f"allowed {depth}"]
        for row in rows.values()
        for depth in _DEPTHS
    )
    lines.append("the masks are the same" if same else "THE MASKS DIFFER")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
