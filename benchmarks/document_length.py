"""Seconds per claim and peak memory, by the length of the documents.

    python -m benchmarks.document_length
    python -m benchmarks.document_length --lengths 5 500 --claims 20 --set precision=bf16

The documents are those of the demo, each with sentences of other documents mixed in at random until
it has the given length. The claims are the same for all lengths. Every measurement is made in a
process of its own: the processor time of a claim after the first, which warms up the models, and
the peak memory of the process. `before` indexes documents as a whole and bounds only the sentences
of each document, as releases before 0.2.0 do.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEMO = Path("admiral/data/demo")
VARIANTS = {
    "bounded": (True, ()),
    "before": (False, ("rerank_characters=1000000000",)),
}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lengthened(
    documents: Sequence[dict[str, Any]], length: int, seed: int = 0
) -> list[dict[str, Any]]:
    """Return documents of `length` sentences: their own, in order, among those of others.

    A document that has more keeps its first ones.
    """
    rng = random.Random(seed)
    pool = [sentence for document in documents for sentence in document["sentences"]]
    result = []
    for document in documents:
        own = document["sentences"][:length]
        sentences = rng.choices(pool, k=length)
        places = sorted(rng.sample(range(length), len(own)))
        for place, sentence in zip(places, own, strict=True):
            sentences[place] = sentence
        result.append({"title": document["title"], "sentences": sentences})
    return result


def measure(kb: Path, claims: int, overrides: Sequence[str]) -> dict[str, float]:
    """Return the mean seconds of processor time per claim, the recall and the peak memory."""
    from admiral import Admiral
    from admiral.config import load_config

    gold = read_lines(DEMO / "claims.jsonl")[: claims + 1]
    config = load_config(None, ["top_k=10", *overrides])
    complete = 0
    with Admiral.from_pretrained(kb=kb, config=config) as system:
        system.retrieve(gold[0]["claim"])
        began = time.process_time()
        for claim in gold[1:]:
            found = {document.title for document in system.retrieve(claim["claim"]).documents}
            complete += {title for title, _ in claim["evidence"]} <= found
        seconds = (time.process_time() - began) / claims
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "complete": complete / claims, "megabytes": peak / 1024}


def main() -> None:
    """Print one line for each length and variant."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[5, 50, 500, 5000])
    parser.add_argument("--claims", type=int, default=8, help="claims to measure (8)")
    parser.add_argument("--documents", type=int, default=200, help="documents (200)")
    parser.add_argument("--bm25", default="bm25s")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.claims, args.overrides)))
        return
    from admiral.kb import build

    gold = {t for claim in read_lines(DEMO / "claims.jsonl") for t, _ in claim["evidence"]}
    documents = read_lines(DEMO / "documents.jsonl")
    documents.sort(key=lambda document: document["title"] not in gold)  # gold documents first
    print("sentences  variant  s/claim  peak MB  all gold @10  index s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus, kb = Path(folder, "corpus.jsonl"), Path(folder, "kb")
        for length in args.lengths:
            records = lengthened(documents[: args.documents], length)
            corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
            for name in args.variants:
                passages, overrides = VARIANTS[name]
                began = time.process_time()
                build(corpus, kb, bm25=args.bm25, passages=passages, overwrite=True, progress=False)
                indexing = time.process_time() - began
                command = [sys.executable, "-m", "benchmarks.document_length"]
                command += ["--measure", str(kb), "--claims", str(args.claims)]
                for override in (*overrides, *args.overrides):
                    command += ["--set", override]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                values = json.loads(done.stdout.splitlines()[-1])
                print(
                    f"{length:9,}  {name:7}  {values['seconds']:7.2f}  {values['megabytes']:7.0f}"
                    f"  {values['complete']:12.2f}  {indexing:7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
