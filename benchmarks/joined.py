"""A knowledge base in shards that are searched as one, beside one that was built of all documents.

    python -m benchmarks.joined --corpus corpus.jsonl.gz --claims claims.jsonl [--bm25 lucene]

The corpus is cut into so many shards of about equal size, each is indexed by itself, and they are
joined. The first 100 titles of each claim and their scores must be those of the other knowledge
base. Each one is measured in a process of its own: opening it (wall-clock time, the best of
several), opening the token trie and a search (processor time of one thread, the best of several),
and the resident memory that all of this added to the process, Java and building the trie included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import click

from admiral.errors import AdmiralError
from admiral.io.claims import read_claims
from admiral.kb import KnowledgeBase
from admiral.kb.bm25 import BACKENDS
from admiral.models.checkpoint import load_checkpoint, locate_checkpoint
from benchmarks.dev_extra import psutil
from benchmarks.kb_building import read, write_corpus
from benchmarks.timing import best
from benchmarks.updates import timed

DEPTH, OPENINGS, SECONDS = 100, 5, 20.0


def measure(kb_path: Path, claims: list[str], out: Path) -> None:
    """Measure one knowledge base and write that, with its rankings, into a file."""
    tokens = load_checkpoint(locate_checkpoint("mini")).tokens
    process = psutil.Process()
    before = process.memory_info().rss
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)  # builds and keeps it, once
    opened = []
    for _ in range(OPENINGS):
        began = time.perf_counter()
        KnowledgeBase.open(kb_path).close()
        opened.append(time.perf_counter() - began)
    with KnowledgeBase.open(kb_path) as kb:
        trie, _ = best(lambda: kb.title_trie(tokens), repeats=1)
        kb.search(claims, DEPTH)  # warms the disk's cache
        searched, found = best(lambda: kb.search(claims, DEPTH), seconds=SECONDS, repeats=5)
        memory = process.memory_info().rss - before
    measured = {
        "open": 1e3 * min(opened),
        "trie": 1e3 * trie,
        "search": 1e3 * searched / len(claims),
        "memory": memory / 1e6,
        "found": [[(hit.title, hit.score) for hit in hits] for hits in found],
    }
    out.write_text(json.dumps(measured))


def measured(kb_path: Path, claims: Path, limit: int, out: Path) -> dict[str, Any]:
    """Do that in a process of its own; AdmiralError if it fails."""
    command = [sys.executable, "-m", "benchmarks.joined", "--claims", str(claims)]
    command += ["--limit", str(limit), "--measure", str(kb_path), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AdmiralError(f"{kb_path}: {done.stderr}")
    return dict(json.loads(out.read_bytes()))


def compare(corpus: Path, claims: Path, folder: Path, bm25: str, shards: int, limit: int) -> bool:
    """Build, join, measure, and print a table; return whether the rankings are the same."""
    documents = list(read(corpus, None))
    ends = [len(documents) * number // shards for number in range(shards + 1)]
    write_corpus(documents, folder / "whole.jsonl")
    options = ("--bm25", bm25, "--no-progress", "--kb")
    seconds = {"whole": timed("index", folder / "whole.jsonl", *options, folder / "whole")}
    members = [folder / f"shard{number}" for number in range(shards)]
    total = 0.0
    for member, (first, end) in zip(members, pairwise(ends), strict=True):
        write_corpus(documents[first:end], folder / "shard.jsonl")
        total += timed("index", folder / "shard.jsonl", *options, member)
    joining = timed("join", *members, "--kb", folder / "joined")
    seconds["joined"] = total + joining
    print(f"{len(documents):,} documents, {bm25}, {shards} shards; joining took {joining:.1f} s")
    print("          build, s  open, ms  trie, ms  search, ms  memory, MB")
    found = {}
    for name, built in seconds.items():
        one = found[name] = measured(folder / name, claims, limit, folder / "measured.json")
        print(
            f"{name:10}{built:8.1f}{one['open']:10.1f}{one['trie']:10.2f}{one['search']:12.2f}"
            f"{one['memory']:12.0f}"
        )
    pairs = list(zip(found["joined"]["found"], found["whole"]["found"], strict=True))
    equal = sum(ours == theirs for ours, theirs in pairs)
    ratio = found["joined"]["search"] / found["whole"]["search"]
    print(f"a search takes {ratio:.2f} times as long")
    print(f"{equal} of {len(pairs)} rankings of {DEPTH} are the same, titles and scores")
    return equal == len(pairs)


@click.command()
@click.option("--corpus", type=click.Path(path_type=Path))
@click.option("--claims", type=click.Path(path_type=Path), required=True)
@click.option("--bm25", type=click.Choice(BACKENDS), default=BACKENDS[0], show_default=True)
@click.option("--shards", default=4, show_default=True)
@click.option("--limit", default=300, show_default=True, help="Claims to search for.")
@click.option("--measure", "kb_path", type=click.Path(path_type=Path), hidden=True)
@click.option("--out", type=click.Path(path_type=Path), hidden=True)
def main(
    corpus: Path | None,
    claims: Path,
    bm25: str,
    shards: int,
    limit: int,
    kb_path: Path | None,
    out: Path | None,
) -> None:
    """Compare both, and fail if a ranking differs."""
    if kb_path is not None and out is not None:
        measure(kb_path, [one.text for one in islice(read_claims(claims), limit)], out)
        return
    if corpus is None:
        raise AdmiralError("--corpus is missing. Give a file of documents")
    with tempfile.TemporaryDirectory(prefix="admiral-benchmark-") as name:
        if not compare(corpus, claims, Path(name), bm25, shards, limit):
            raise AdmiralError("some rankings differ")


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except AdmiralError as error:
        sys.exit(f"error: {error}")
