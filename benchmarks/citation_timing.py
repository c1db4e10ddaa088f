"""Seconds that a citation takes: a verdict on it with the search for better sources, and `cite`.

    python -m benchmarks.citation_timing WICE.dev.jsonl --library POOL [--passages 6,24,0]

Claims are verified one at a time, as a user sees it, and after one that is not counted. The table
has percentiles of the time on the clock and the mean processor time; on a busy machine, only the
latter can be compared. With 0 passages, the verifier reads all passages of each source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import numpy as np
import torch

from admiral.citations import CitationConfig, CitedClaim, Citer
from admiral.citations.citation_settings import VERIFIERS
from admiral.citations.wice_records import read_wice
from admiral.io.claims import evenly_spaced

_PERCENTILES = (50, 90, 99)


def timed(
    claims: Sequence[CitedClaim], action: Callable[[CitedClaim], object]
) -> tuple[list[float], float]:
    """Return the seconds of each claim after the first, and the mean processor time."""
    action(claims[0])
    seconds = []
    began = time.process_time()
    for claim in claims[1:]:
        start = time.perf_counter()
        action(claim)
        seconds.append(time.perf_counter() - start)
    return seconds, (time.process_time() - began) / len(seconds)


@click.command()
@click.argument("wice", type=click.Path(exists=True, path_type=Path))
@click.option("--library", required=True, help="Library with the cited pages.")
@click.option("--verifier", type=click.Choice(list(VERIFIERS)), default="mixed", show_default=True)
@click.option("--classifier", default="", help="Directory for the verifier cross-encoder.")
@click.option("--passages", default="6,24,0", show_default=True, help="Values of verify_passages.")
@click.option("--candidates", default=10, show_default=True, help="Sources that are scored.")
@click.option("--limit", default=41, show_default=True, type=click.IntRange(2))
def main(
    wice: Path,
    library: str,
    verifier: str,
    classifier: str,
    passages: str,
    candidates: int,
    limit: int,
) -> None:
    """Print how long the citations of WICE take."""
    claims = evenly_spaced([each.claim for each in read_wice(wice)], limit)
    click.echo(
        "| passages of a source | task | "
        + " | ".join(f"p{each}" for each in _PERCENTILES)
        + " | processor |"
    )
    click.echo("|---" * (len(_PERCENTILES) + 3) + "|")
    base = CitationConfig(verifier=verifier, classifier=classifier, candidates=candidates)
    for count in map(int, passages.split(",")):
        config = replace(base, verify_passages=count, threads=1)
        # Each with a citer of its own: the vectors of sentences are cached.
        with Citer.open(library, config=config) as citer:
            print_row(count, "verify and suggest", claims, citer.verify)
        with Citer.open(library, config=config) as citer:
            print_row(count, "cite", claims, partial(suggest, citer))
        with Citer.open(library, config=replace(config, suggest=False)) as citer:
            print_row(count, "verify alone", claims, citer.verify)


def suggest(citer: Citer, claim: CitedClaim) -> object:
    """Find sources as `admiral cite` does."""
    return citer.suggest(claim.claim, page=claim.page)


def print_row(
    count: int, task: str, claims: Sequence[CitedClaim], action: Callable[[CitedClaim], object]
) -> None:
    """Print the times of a task."""
    seconds, processor = timed(claims, action)
    cells = [f"{each:.2f} s" for each in np.percentile(seconds, _PERCENTILES)]
    click.echo(f"| {count or 'all'} | {task} | {' | '.join(cells)} | {processor:.2f} s |")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
