"""Indexing beside Anserini's: time, memory and disk, on the same text in the same run.

    python -m benchmarks.kb_building --corpus corpus.jsonl.gz [--bm25 lucene] [--limit 50000]

Builds a knowledge base of the corpus (everything that `admiral index` does), then the BM25 index
alone, then Anserini's own index, the last two from the same JSON collection. Each runs in a
process of its own; its peak memory is that of the process and its children together, sampled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import psutil

from admiral.errors import AdmiralError, RecordError
from admiral.kb.bm25 import BACKENDS, lucene_index
from admiral.kb.corpus.readers import detect_format, read_corpus
from admiral.records import Document

BUILD_ALL = """
import sys
from admiral.kb import build
build(sys.argv[1], sys.argv[2], bm25=sys.argv[3], on_duplicate="skip", progress=False)
"""
BUILD_BM25 = """
import json, sys
from pathlib import Path
from admiral.kb.bm25 import build_bm25
def documents():
    for shard in sorted(Path(sys.argv[1]).iterdir()):
        with shard.open() as lines:
            for record in map(json.loads, lines):
                yield record["title"], record["contents"]
build_bm25(sys.argv[3], documents(), Path(sys.argv[2]))
"""
SECONDS_BETWEEN_SAMPLES = 0.05


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one process took.

    Attributes
    ----------
    seconds
        Wall-clock time.
    memory
        Largest resident size of the process and its children together, bytes.
    parts
        Size on disk by part, bytes.
    """

    name: str
    seconds: float
    memory: int
    parts: dict[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Size on disk, bytes."""
        return sum(self.parts.values())


def measure(name: str, command: Sequence[str], parts: Callable[[], dict[str, int]]) -> Measurement:
    """Run `command` and measure it; `AdmiralError` with the end of its output if it fails."""
    began = time.monotonic()
    peak = 0
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True)
        try:
            while process.poll() is None:
                peak = max(peak, resident(process.pid))
                time.sleep(SECONDS_BETWEEN_SAMPLES)
        finally:
            process.kill()
            process.wait()
        seconds = time.monotonic() - began
        if process.returncode:
            output.seek(0)
            raise AdmiralError(f"{name}: failed ({process.returncode}): {output.read()[-2000:]}")
    return Measurement(name, seconds, peak, parts())


def resident(pid: int) -> int:
    """Return the resident size of a process and its children, bytes; 0 when it is gone."""
    total = 0
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:
        pass
    return total


def size(path: Path) -> int:
    """Return the bytes of a file or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def sizes(directory: Path) -> dict[str, int]:
    """Return the bytes of each entry of a folder."""
    return {path.name: size(path) for path in sorted(directory.iterdir())}


def read(corpus: Path, limit: int | None) -> Iterator[Document]:
    """Yield the first `limit` documents; a bad record is an error."""
    for item in islice(read_corpus(corpus, detect_format(corpus)), limit):
        if isinstance(item, RecordError):
            raise item
        yield item.document


def write_collection(documents: Iterable[Document], directory: Path, shards: int) -> int:
    """Write Anserini's JSON collection, one file for each of its threads; return the count."""
    directory.mkdir()
    count = 0
    files = [(directory / f"{shard:02}.json").open("w") for shard in range(shards)]
    try:
        for count, document in enumerate(documents, start=1):
            record = {
                "id": f"{count - 1:09}",
                "title": document.title,
                "contents": " ".join(document.sentences),
            }
            files[count % shards].write(json.dumps(record) + "\n")
    finally:
        for file in files:
            file.close()
    return count


def write_corpus(documents: Iterable[Document], path: Path) -> None:
    """Write a cut corpus as JSON Lines, for our build."""
    with path.open("w") as file:
        for document in documents:
            record = {"title": document.title, "sentences": document.sentences}
            file.write(json.dumps(record) + "\n")


def anserini(collection: Path, index: Path, threads: int) -> list[str]:
    """Return the command of Anserini's indexer, with what our index has: no text, one segment."""
    return [
        *(str(lucene_index.java_home() / "bin" / "java"), "-cp", str(lucene_index.lucene_jar())),
        *("io.anserini.index.IndexCollection", "-collection", "JsonCollection"),
        *("-generator", "DefaultLuceneDocumentGenerator", "-input", str(collection)),
        *("-index", str(index), "-fields", "title", "-threads", str(threads), "-optimize"),
    ]


def table(rows: Sequence[Measurement], documents: int) -> str:
    """Return the measurements as text, each beside the last."""
    last = rows[-1]
    lines = [f"{'':32}{'seconds':>9}{'docs/s':>9}{'peak MB':>9}{'disk MB':>9}{'B/doc':>7}   ratios"]
    for row in rows:
        speed, each = documents / row.seconds, row.size / documents
        lines.append(
            f"{row.name:32}{row.seconds:9.1f}{speed:9.0f}{row.memory / 1e6:9.0f}"
            f"{row.size / 1e6:9.1f}{each:7.0f}   time {row.seconds / last.seconds:.2f}"
            f", memory {row.memory / last.memory:.2f}, disk {row.size / last.size:.2f}"
        )
        if len(row.parts) > 1 and row is rows[0]:
            lines += [f"    {part:28}{b / 1e6:36.1f}" for part, b in row.parts.items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="any that `admiral index` reads")
    parser.add_argument("--bm25", choices=BACKENDS, default=BACKENDS[0])
    parser.add_argument("--limit", type=int, help="only so many documents")
    parser.add_argument("--threads", type=int, default=2, help="of Anserini (ours uses one)")
    options = parser.parse_args(arguments)
    python = [sys.executable, "-c"]
    with tempfile.TemporaryDirectory(prefix="admiral-benchmark-") as name:
        folder = Path(name)
        corpus, collection = options.corpus, folder / "collection"
        if options.limit:
            corpus = folder / "corpus.jsonl"
            write_corpus(read(options.corpus, options.limit), corpus)
        began = time.monotonic()
        documents = write_collection(read(corpus, None), collection, options.threads)
        seconds = time.monotonic() - began
        rows = [
            measure(
                f"admiral, {options.bm25}: all",
                [*python, BUILD_ALL, str(corpus), str(folder / "kb"), options.bm25],
                lambda: sizes(folder / "kb"),
            ),
            measure(
                f"admiral, {options.bm25}: BM25 alone",
                [*python, BUILD_BM25, str(collection), str(folder / "bm25"), options.bm25],
                lambda: sizes(folder / "bm25"),
            ),
            measure(
                f"Anserini, {options.threads} threads",
                anserini(collection, folder / "anserini", options.threads),
                lambda: sizes(folder / "anserini"),
            ),
        ]
    print(f"{documents:,} documents; ratios are to the last line")
    print(table(rows, documents))
    print(f"(writing the JSON collection, which the last two read, took {seconds:.1f} s)")


if __name__ == "__main__":
    try:
        main()
    except AdmiralError as error:
        sys.exit(f"error: {error}")
