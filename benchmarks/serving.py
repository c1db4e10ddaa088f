"""Throughput and latency of `admiral serve` beside the same claims through `retrieve_many`.

    python -m benchmarks.serving CLAIMS --kb KB --limit 32 --output serving.json

The service runs in a process of its own with the same settings; each client sends a claim as soon
as it has the result of the one before. Then more clients than the queue has places measure what
happens past saturation, with one claim each. All claims are processed once before measuring, since
repeated claims find their sentences' embeddings cached. A run processes about nine times as many
claims as `--limit`, and as many as there are places. `benchmarks.soak` reports memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import click
import httpx
import numpy as np
import psutil

from admiral import Admiral
from admiral.config import FAST_SETTINGS, RetrievalConfig, load_config
from admiral.io.claims import read_claims

SETTINGS = click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE")


@click.command()
@click.argument("claims_path", metavar="CLAIMS", type=click.Path(path_type=Path))
@click.option("--kb", default="demo", help="Knowledge base.")
@click.option("--limit", default=64, help="Number of claims per measurement.")
@click.option("--clients", default="1,4,16,64", help="Numbers of clients.")
@click.option("--places", default=64, help="Places of the queue.")
@click.option("--past", default=96, help="Clients past saturation; 0 for none.")
@click.option("--fast", is_flag=True, help="The settings of `admiral retrieve --fast`.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file of the figures.")
@SETTINGS
def main(
    claims_path: Path,
    kb: str,
    limit: int,
    clients: str,
    places: int,
    past: int,
    fast: bool,
    output: Path | None,
    assignments: tuple[str, ...],
) -> None:
    """Measure the service with the first claims of CLAIMS (JSON Lines)."""
    assignments = with_fast_settings(assignments) if fast else assignments
    claims = [claim.text for claim in islice(read_claims(claims_path), limit)]
    config = load_config(None, [f"kb={kb}", *assignments])
    numbers = [int(number) for number in clients.split(",")]
    rows = _loads(claims, kb, config, numbers, places, past, assignments)
    for row in rows:
        click.echo(json.dumps(row))
    if output is not None:
        output.write_text(json.dumps(rows, indent=1) + "\n")


def _loads(
    claims: Sequence[str],
    kb: str,
    config: RetrievalConfig,
    clients: Sequence[int],
    places: int,
    past: int,
    assignments: Sequence[str],
) -> list[dict[str, Any]]:
    """Measure the library, then the service; rows of the service compare it with the library."""
    few = claims[: max(1, len(claims) // 4)]
    with Admiral.from_pretrained(config=config) as system:
        list(system.retrieve_many(claims))  # fills caches, as those of the service are below
        many, single = _many(system, claims), _one_by_one(system, few)
    rows = [many, single]
    with service(kb, places, assignments) as (url, _):
        _load(url, claims, min(16, places))
        for number in clients:
            row = _load(url, claims if number > 1 else few, number)
            row["ratio_to_retrieve_many"] = _ratio(row, many)
            if number == 1:
                row["p50_over_retrieve_ms"] = round(1000 * (row["p50"] - single["p50"]), 1)
            rows.append(row)
        if past:
            row = _load(url, list(islice(cycle(claims), past)), past)
            rows.append(
                {**row, "past_saturation": True, "ratio_to_retrieve_many": _ratio(row, many)}
            )
    return rows


def _ratio(row: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    return round(row["claims_per_second"] / other["claims_per_second"], 3)


def _many(system: Admiral, claims: Sequence[str]) -> dict[str, Any]:
    started = time.perf_counter()
    count = sum(1 for _ in system.retrieve_many(claims))
    return {"system": "retrieve_many", "claims_per_second": count / (time.perf_counter() - started)}


def _one_by_one(system: Admiral, claims: Sequence[str]) -> dict[str, Any]:
    seconds = []
    for claim in claims:
        started = time.perf_counter()
        system.retrieve(claim)
        seconds.append(time.perf_counter() - started)
    rate = len(claims) / sum(seconds)
    return {"system": "retrieve", "claims_per_second": rate, **percentiles(seconds)}


def _load(url: str, claims: Sequence[str], clients: int) -> dict[str, Any]:
    """Send each claim once, with so many clients at a time, and count the statuses."""
    requests = [retrieval(claim) for claim in claims]
    started = time.perf_counter()
    statuses, seconds = _send(url, requests, clients)
    total = time.perf_counter() - started
    return {
        "system": "service",
        "clients": clients,
        "claims_per_second": len(seconds) / total,
        **percentiles(seconds),
        "statuses": dict(statuses),
    }


def _send(
    url: str, requests: Sequence[dict[str, Any]], clients: int
) -> tuple[Counter[int], list[float]]:
    """Send requests; return the number of each status, and the seconds of those answered by 200."""
    remaining = iter(requests)
    lock = threading.Lock()
    seconds: list[float] = []
    statuses: Counter[int] = Counter()

    def work() -> None:
        with httpx.Client(base_url=url, timeout=600) as client:
            while True:
                with lock:
                    request = next(remaining, None)
                if request is None:
                    return
                started = time.perf_counter()
                status = client.request(**request).status_code
                with lock:
                    statuses[status] += 1
                    if status == httpx.codes.OK:
                        seconds.append(time.perf_counter() - started)

    with ThreadPoolExecutor(clients) as pool:
        for future in [pool.submit(work) for _ in range(clients)]:
            future.result()
    return statuses, seconds


def retrieval(claim: str) -> dict[str, Any]:
    """Return a request that retrieves documents for a claim."""
    return {"method": "POST", "url": "/v1/retrieve", "json": {"claim": claim}}


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and high percentiles of times; empty without any."""
    if not seconds:
        return {}
    return {f"p{q}": round(float(np.percentile(seconds, q)), 3) for q in (50, 95, 99)}


def with_fast_settings(assignments: Sequence[str]) -> tuple[str, ...]:
    """Return settings with those of `admiral retrieve --fast` before them."""
    return (*(f"{key}={json.dumps(value)}" for key, value in FAST_SETTINGS.items()), *assignments)


@contextmanager
def service(
    kb: str, places: int, assignments: Sequence[str]
) -> Iterator[tuple[str, psutil.Process]]:
    """Run `admiral serve` in the block; the value is its address and its process."""
    settings = [part for assignment in assignments for part in ("--set", assignment)]
    program = "from admiral.cli.main import run; run()"
    given = ["--kb", kb, "--port", "0", "--places", str(places), *settings]
    command = [sys.executable, "-c", program, "serve", *given]
    # A file, so that the service never waits for a reader of its log.
    with (
        tempfile.NamedTemporaryFile() as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            while not (found := re.search(r"running on (http://[\d.:]+)", _text(log.name))):
                if process.poll() is not None:
                    raise click.ClickException(f"the service has ended: {_text(log.name)}")
                time.sleep(0.1)
            yield found[1], psutil.Process(process.pid)
        finally:
            process.terminate()


def _text(path: str) -> str:
    return Path(path).read_text(errors="replace")


if __name__ == "__main__":
    main()
