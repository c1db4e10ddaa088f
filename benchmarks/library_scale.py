"""A library of many pages: build time, memory, bytes per passage, and seconds per query.

    python -m benchmarks.library_scale KB [--pages 100000] [--words 100] [--stride 50]

Pages are made of several introductions of a knowledge base, until they have the median length that
the option asks for; introductions are used again once all have been. Each step runs in a process of
its own, whose peak memory is reported. SIDE's index of 906.3 million passages takes about 860 bytes
(sparse) and 1,320 bytes (dense) a passage.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import click

from admiral.kb import KnowledgeBase
from admiral.library import Library, Source, build_library, describe_library

_QUERIES = 50


def pages(kb: KnowledgeBase, count: int, words: int) -> Iterator[Source]:
    """Yield pages of at least `words` words."""
    number = 0
    while number < count:
        title, parts, length = "", list[str](), 0
        for document in kb.documents():
            title = title or document.title
            text = " ".join(document.sentences)
            parts.append(text)
            length += text.count(" ") + 1
            if length >= words:
                yield Source(f"https://pages.example/{number}", title, "\n\n".join(parts))
                number += 1
                title, parts, length = "", [], 0
                if number == count:
                    return


def build(kb: str, folder: Path, count: int, page_words: int, words: int, stride: int) -> None:
    """Build the library and print a JSON record."""
    began = time.process_time()
    with KnowledgeBase.open(kb) as opened:
        report = build_library(folder, pages(opened, count, page_words), words=words, stride=stride)
    record = {
        "sources": report.sources,
        "passages": report.passages,
        "seconds": report.seconds,
        "processor_seconds": time.process_time() - began,
        "peak_mb": getrusage(RUSAGE_SELF).ru_maxrss / 1024,
        "bytes": describe_library(folder).sizes,
    }
    click.echo(json.dumps(record))


def search(folder: Path) -> None:
    """Search for the first words of some passages and print a JSON record."""
    began = time.perf_counter()
    with Library.open(folder) as library:
        opened = time.perf_counter() - began
        texts = [s.text for s in islice(library.sources(), 0, 40 * _QUERIES, 40)]
        queries = [" ".join(text.split()[5:30]) for text in texts]
        began = time.process_time()
        library.search(queries, 100)
        seconds = (time.process_time() - began) / max(len(queries), 1)
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    click.echo(
        json.dumps({"open_seconds": opened, "processor_seconds_a_query": seconds, "peak_mb": peak})
    )


@click.command()
@click.argument("kb")
@click.option("--pages", "count", default=100_000, show_default=True)
@click.option("--page-words", default=300, show_default=True, help="Least words of a page.")
@click.option("--words", default=100, show_default=True)
@click.option("--stride", default=50, show_default=True)
@click.option("--step", type=click.Choice(["build", "search"]), help="Run one step alone.")
@click.option("--folder", type=click.Path(path_type=Path), help="Directory of the library.")
def main(
    kb: str,
    count: int,
    page_words: int,
    words: int,
    stride: int,
    step: str | None,
    folder: Path | None,
) -> None:
    """Build a library of pages and search in it, each in a process of its own."""
    if step == "build" and folder is not None:
        build(kb, folder, count, page_words, words, stride)
    elif step == "search" and folder is not None:
        search(folder)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            for name in ("build", "search"):
                command = [sys.executable, "-m", "benchmarks.library_scale", *sys.argv[1:]]
                place = str(folder or Path(temporary, "library"))
                subprocess.run([*command, "--step", name, "--folder", place], check=True)


if __name__ == "__main__":
    main()
