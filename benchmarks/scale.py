"""Growth with the documents: building, disk, memory, seconds per claim, beside dense search.

    python -m benchmarks.scale CORPUS CLAIMS --documents 43005 --documents 5200000 --work FOLDER

For each number of documents a knowledge base is built of the corpus, cut or enlarged
(`benchmarks.more_documents`), by `admiral index`. It stays in FOLDER with what its build took, and
is used again. Then a process answers the claims by BM25 alone and with hops. Its memory is split:
what it holds when it has answered the same claims over the demo documents, and what the knowledge
base adds to that. Pages of its files are told apart: they are the system's cache, which it takes
back where others need the room.

The dense index beside it is the plainest: a vector of 384 numbers (MiniLM's) for each document in
fp32, and exact search by inner product. Its vectors are random, which changes neither time nor
memory; what it takes to encode claims and documents is not counted.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.errors import AdmiralError
from admiral.gold import GoldClaim, read_gold
from admiral.io.claims import evenly_spaced
from benchmarks.command import ADMIRAL
from benchmarks.dev_extra import psutil
from benchmarks.kb_building import measure, read, sizes, write_corpus
from benchmarks.more_documents import enlarged
from benchmarks.retrieval import recalls

MEGABYTE = 1e6
_CUTS = (10, 100)
_WIDTH, _ROWS = 384, 1 << 16  # of a vector of MiniLM; vectors that are made at once


def built(corpus: Path, count: int, work: Path, bm25: str) -> tuple[Path, dict[str, Any]]:
    """Return the knowledge base of so many documents and what its build took.

    It is built if it is not there.

    Raises
    ------
    AdmiralError
        If the one that is there was built of another corpus, or with another BM25 backend.
    """
    kb, note = work / f"kb-{count}", work / f"kb-{count}.json"
    made_of = {"corpus": str(corpus.resolve()), "bytes": corpus.stat().st_size, "bm25": bm25}
    if not note.exists():
        documents = work / f"{count}.jsonl"
        write_corpus(enlarged(list(read(corpus, None)), count), documents)
        command = [*ADMIRAL, "index", str(documents), "--kb", str(kb), "--bm25", bm25]
        command += ["--overwrite", "--on-duplicate", "skip", "--no-progress"]
        found = measure("admiral index", command, lambda: sizes(kb))
        documents.unlink()
        note.write_text(json.dumps({"made_of": made_of, "build": asdict(found)}))
    record = json.loads(note.read_text())
    if record["made_of"] != made_of:
        raise AdmiralError(
            f"{kb}: was built of {record['made_of']}, not of {made_of}. Give another --work"
        )
    return kb, dict(record["build"])


def recalled(rankings: Sequence[Sequence[str]], gold: Sequence[GoldClaim]) -> list[float]:
    """Return the shares of claims with all gold documents in the top k."""
    measures, (everyone, *_) = recalls(rankings, gold, _CUTS)
    return [measure.value(everyone.members) for measure in measures]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return wall-clock seconds and the result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def answer(kb: Path, gold: Sequence[GoldClaim], settings: Sequence[str]) -> dict[str, Any]:
    """Answer claims in this process and return seconds and memory."""
    config = load_config(None, list(settings))
    texts = [one.claim for one in gold]
    asked = [Claim(one.id, one.claim) for one in gold]
    with Admiral.from_pretrained(kb="demo", config=config) as warm:
        for _ in warm.retrieve_many(asked):
            pass
    del warm
    gc.collect()
    before = psutil.Process().memory_info().rss
    with Admiral.from_pretrained(kb=kb, config=config) as system:
        system.kb.search(texts, 1)  # what a first search reads stays in the page cache
        bm25, found = timed(lambda: system.kb.search(texts, max(_CUTS)))
        hops, results = timed(lambda: list(system.retrieve_many(asked)))
        after = psutil.Process().memory_info().rss
        maps, place = psutil.Process().memory_maps(), str(kb.resolve())
        mapped = sum(one.rss for one in maps if one.path.startswith(place))
    return {
        "models": before,
        "added": after - before,
        "mapped": mapped,
        "bm25": bm25 / len(gold),
        "hops": hops / len(gold),
        "bm25 recalls": recalled([[f.title for f in one] for one in found], gold),
        "hops recalls": recalled([[d.title for d in one.documents] for one in results], gold),
    }


def dense(count: int, queries: int = 20) -> tuple[float, int]:
    """Return seconds of an exact search among so many vectors, and their bytes."""
    rng = np.random.default_rng(0)
    vectors = np.empty((count, _WIDTH), np.float32)
    for at in range(0, count, _ROWS):
        part = vectors[at : at + _ROWS]
        rng.standard_normal(dtype=np.float32, out=part)
    times = []
    for _ in range(queries):
        query = rng.standard_normal(_WIDTH, dtype=np.float32)
        began = time.perf_counter()
        np.argpartition(-(vectors @ query), 100)
        times.append(time.perf_counter() - began)
    return min(times), vectors.nbytes


def lines(count: int, build: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return lines of a table for one knowledge base, the last one for a dense index."""
    search, bytes_ = dense(count)
    disk = sum(build["parts"].values())
    at = "@" + ", @".join(map(str, _CUTS))

    def recall(name: str) -> str:
        return " / ".join(f"{value:.3f}" for value in found[f"{name} recalls"])

    parts = ", ".join(f"{name} {b / MEGABYTE:,.0f}" for name, b in build["parts"].items())
    return [
        f"{count:,} documents",
        f"  build {build['seconds']:,.0f} s, at most {build['memory'] / MEGABYTE:,.0f} MB; on disk "
        f"{disk / MEGABYTE:,.0f} MB ({parts})",
        f"  memory: {found['models'] / MEGABYTE:,.0f} MB with the models; the knowledge base "
        f"adds {found['added'] / MEGABYTE:,.0f}, of which pages of its files "
        f"{found['mapped'] / MEGABYTE:,.0f}",
        f"  BM25   {1000 * found['bm25']:8.1f} ms a claim; all gold {at}: {recall('bm25')}",
        f"  hops   {1000 * found['hops']:8.1f} ms a claim; all gold {at}: {recall('hops')}",
        f"  dense  {1000 * search:8.1f} ms a search; {bytes_ / MEGABYTE:,.0f} MB, "
        f"{bytes_ / max(found['added'], 1):.1f} times what the knowledge base adds",
    ]


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path, exists=True))
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--documents", multiple=True, type=int, required=True, help="Repeatable.")
@click.option("--work", type=click.Path(path_type=Path), required=True)
@click.option("--bm25", default="lucene", show_default=True)
@click.option("--limit", default=24, show_default=True, help="Claims, spread over the file.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Settings.")
@click.option("--only-answer", type=click.Path(path_type=Path), hidden=True)
def main(
    corpus: Path,
    claims: Path,
    documents: tuple[int, ...],
    work: Path,
    bm25: str,
    limit: int,
    settings: tuple[str, ...],
    only_answer: Path | None,
) -> None:
    """Print what knowledge bases of CORPUS take to build, to hold, and to answer CLAIMS."""
    gold = evenly_spaced([one for one in read_gold(claims) if one.evidence], limit)
    if only_answer is not None:
        click.echo(json.dumps(answer(only_answer, gold, settings)))
        return
    work.mkdir(parents=True, exist_ok=True)
    for count in documents:
        kb, build = built(corpus, count, work, bm25)
        command = [sys.executable, "-m", "benchmarks.scale", str(corpus), str(claims)]
        command += ["--documents", str(count), "--work", str(work), "--limit", str(limit)]
        command += [part for one in settings for part in ("--set", one)]
        command += ["--only-answer", str(kb)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise click.ClickException(f"answering over {kb} failed")
        for line in lines(count, build, json.loads(done.stdout)):
            click.echo(line)


if __name__ == "__main__":
    try:
        main()
    except AdmiralError as error:
        sys.exit(f"error: {error}")
