"""Memory over many claims: what a process holds as it answers one after the other.

    python -m benchmarks.soak --count 20000

The claims are synthesised over the knowledge base and repeated where it gives too few. The settings
are small ones, so that there are many claims rather than long ones; every stage runs. Memory is
sampled at regular distances. Caches fill at first, so that the growth that counts is from the first
quarter on; the status is 1 if it is more than a tenth.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import click

from admiral import Admiral
from admiral.config import load_config
from admiral.io.claims import read_claims
from benchmarks.dev_extra import psutil
from benchmarks.ray_run import write_claims

MEGABYTE = 1e6
_SMALL = (
    *("hops=2", "beam_size=3", "title_beams=2", "first_stage_documents=20"),
    *("rerank_documents=6", "cross_encoder_documents=3", "rerank_sentences=8"),
)
_MOST_GROWTH = 0.1


@click.command()
@click.option("--kb", default="demo", show_default=True)
@click.option("--count", default=20000, show_default=True, help="Claims.")
@click.option("--samples", default=20, show_default=True, help="Of memory.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Settings.")
def main(kb: str, count: int, samples: int, settings: tuple[str, ...]) -> None:
    """Print memory against claims."""
    config = load_config(None, [*_SMALL, *settings])
    step = count // samples
    if count % samples or step < config.batch_size:
        raise click.UsageError(f"--count must be {samples} samples of {config.batch_size} or more.")
    held: list[int] = []
    with tempfile.TemporaryDirectory() as name, Admiral.from_pretrained(kb=kb, config=config) as us:
        path = Path(name, "claims.jsonl")
        texts = write_claims(path, kb, count)
        click.echo(f"{count} claims, {texts} texts")
        click.echo("| claims | memory, MB | claims/s |")
        click.echo("|---|---|---|")
        answers = us.retrieve_many(read_claims(path))
        for number in range(1, samples + 1):
            began = time.perf_counter()
            done = sum(1 for _ in islice(answers, step))
            speed = done / (time.perf_counter() - began)
            held.append(psutil.Process().memory_info().rss)
            click.echo(f"| {number * step} | {held[-1] / MEGABYTE:.0f} | {speed:.2f} |")
    growth = held[-1] / held[len(held) // 4] - 1
    click.echo(f"from the first quarter to the end: {growth:+.1%}")
    if growth > _MOST_GROWTH:
        sys.exit(1)


if __name__ == "__main__":
    main()
