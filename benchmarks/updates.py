"""Changing a knowledge base beside building it again, and searching it before and after.

    python -m benchmarks.updates --corpus corpus.jsonl.xz --claims claims.jsonl [--bm25 lucene]

The last 10,100 documents of the corpus are kept back and a knowledge base of the others is built.
Then 100 of them are added, the 10,000 others, 100 documents are removed, 900 replaced, and all is
compacted: each by the command line in a process of its own, whose start counts (wall-clock time).
After every step claims are searched for by BM25, and the hop retriever decodes titles for them
(processor time of one thread, the best of several runs). The rankings are compared with those of a
knowledge base that is built of what is there then.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click
import torch

from admiral.errors import AdmiralError
from admiral.io.claims import read_claims
from admiral.kb import KnowledgeBase
from admiral.kb.bm25 import BACKENDS
from admiral.models.checkpoint import Checkpoint, load_checkpoint, locate_checkpoint
from admiral.records import Document, ScoredTitle, Sentence
from admiral.retrieval.hop_retriever import TrieHopRetriever
from benchmarks.command import ADMIRAL
from benchmarks.kb_building import read, size, write_corpus
from benchmarks.timing import best

FEW, MANY, REMOVED, REPLACED = 100, 10_000, 100, 900
DEPTH, SECONDS = 100, 5.0


class Corpora:
    """The corpora of the steps, written into a folder; `documents` counts those of the base."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        documents = list(read(corpus, None))
        rng = random.Random(0)
        at = len(documents) - FEW - MANY
        chosen = rng.sample(documents[:at], REMOVED + REPLACED)
        removed = {document.title for document in chosen[:REMOVED]}
        replaced = [
            replace(one, sentences=one.sentences[::-1], links=()) for one in chosen[REMOVED:]
        ]
        gone = {document.title for document in chosen}
        left = [document for document in documents if document.title not in gone]
        self.documents = at
        self.folder = folder
        self._write("base", documents[:at])
        self._write("few", documents[at : at + FEW])
        self._write("many", documents[at + FEW :])
        self._write("replaced", replaced)
        self._write("after", left + replaced)
        (folder / "removed.txt").write_text("".join(f"{title}\n" for title in removed))

    def _write(self, name: str, documents: Iterable[Document]) -> None:
        write_corpus(documents, self.path(name))

    def path(self, name: str) -> Path:
        """Return the place of one of the corpora."""
        return self.folder / f"{name}.jsonl"


class Searches:
    """BM25 and decoding over versions of a knowledge base, for the same claims."""

    def __init__(self, claims: list[str], decoded: int, checkpoint: Checkpoint) -> None:
        self._claims, self._decoded, self._checkpoint = claims, claims[:decoded], checkpoint

    def measure(self, kb_path: Path) -> tuple[list[list[ScoredTitle]], float, float, float]:
        """Return the rankings, and milliseconds: a search, opening the trie, decoding a claim."""
        with KnowledgeBase.open(kb_path) as kb:
            kb.search(self._claims, DEPTH)  # warms Java and the disk's cache
            searched, found = best(lambda: kb.search(self._claims, DEPTH), seconds=SECONDS)
        with KnowledgeBase.open(kb_path) as kb:
            kb.title_trie(self._checkpoint.tokens)  # the base's is built, where there is none
        with KnowledgeBase.open(kb_path) as kb:
            began = time.process_time()
            trie = kb.title_trie(self._checkpoint.tokens)
            opened = time.process_time() - began
            model, tokens = self._checkpoint.model, self._checkpoint.tokens
            retriever = TrieHopRetriever(model, tokens, trie, kb, beam_size=25, title_beams=25)
            without: list[list[Sentence]] = [[] for _ in self._decoded]
            hops = [0] * len(without)
            decoded, _ = best(
                lambda: retriever.expand(self._decoded, without, hops),
                repeats=5,
                seconds=3 * SECONDS,
            )
        claims = len(self._claims), len(self._decoded)
        return found, 1e3 * searched / claims[0], 1e3 * opened, 1e3 * decoded / claims[1]


def timed(*arguments: str | Path) -> float:
    """Run `admiral` and return the seconds that it took; AdmiralError if it fails."""
    began = time.monotonic()
    done = subprocess.run([*ADMIRAL, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise AdmiralError(f"admiral {arguments[0]}: {done.stderr}")
    return time.monotonic() - began


def same(found: list[list[ScoredTitle]], fresh: list[list[ScoredTitle]]) -> str:
    """Say how many rankings are the same, and how much of their beginnings."""
    pairs = list(zip(found, fresh, strict=True))
    equal = sum(ours == theirs for ours, theirs in pairs)
    shares = []
    for depth in (10, DEPTH):
        shared = total = 0
        for ours, theirs in pairs:
            titles = {hit.title for hit in theirs[:depth]}
            shared += len(titles & {hit.title for hit in ours[:depth]})
            total += len(titles)
        shares.append(f"{shared / max(1, total):.4f} of the first {depth}")
    return f"{equal} of {len(pairs)} rankings to the last bit; {', '.join(shares)}"


@click.command()
@click.option("--corpus", type=click.Path(path_type=Path), required=True)
@click.option("--claims", "claims_path", type=click.Path(path_type=Path), required=True)
@click.option("--bm25", type=click.Choice(BACKENDS), default=BACKENDS[0], show_default=True)
@click.option("--limit", default=200, show_default=True, help="Claims searched for by BM25.")
@click.option("--decoded", default=8, show_default=True, help="Claims that titles are decoded for.")
def main(corpus: Path, claims_path: Path, bm25: str, limit: int, decoded: int) -> None:
    """Measure and print a table."""
    torch.set_num_threads(1)
    claims = [claim.text for claim in islice(read_claims(claims_path), limit)]
    searches = Searches(claims, decoded, load_checkpoint(locate_checkpoint("mini")))
    with tempfile.TemporaryDirectory(prefix="admiral-benchmark-") as name:
        kb, fresh = Path(name, "kb"), Path(name, "fresh")
        corpora = Corpora(corpus, Path(name))
        to_kb = ("--kb", kb, "--no-progress")
        build = ("--bm25", bm25, "--no-progress", "--kb")
        steps: list[tuple[str, tuple[str | Path, ...]]] = [
            (f"index {corpora.documents:,}", ("index", corpora.path("base"), *build, kb)),
            (f"add {FEW}", ("add", corpora.path("few"), *to_kb)),
            (f"add {MANY:,}", ("add", corpora.path("many"), *to_kb)),
            (f"remove {REMOVED}", ("remove", "--titles", Path(name, "removed.txt"), *to_kb)),
            (
                f"replace {REPLACED}",
                ("add", corpora.path("replaced"), "--on-duplicate", "replace", *to_kb),
            ),
            ("compact", ("compact", *to_kb)),
        ]
        again = timed("index", corpora.path("after"), *build, fresh)
        expected = searches.measure(fresh)[0]
        print("                      s   MB  search, ms  trie, ms  decode, ms  beside a new one")
        for label, arguments in steps:
            seconds = timed(*arguments)
            found, *times = searches.measure(kb)
            note = same(found, expected) if label.startswith(("replace", "compact")) else ""
            cells = "".join(f"{value:11.1f}" for value in times)
            print(f"{label:16}{seconds:8.1f}{size(kb) / 1e6:6.0f}{cells}  {note}", flush=True)
        print(f"{'a new one':16}{again:8.1f}{size(fresh) / 1e6:6.0f}")


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except AdmiralError as error:
        sys.exit(f"error: {error}")
