"""Throughput and latency of `admiral serve` beside the same claims through `retrieve_many`.

    python -m benchmarks.serving CLAIMS --kb KB --limit 64 --output serving.json

The service runs in a process of its own with the same settings; each client sends a claim as soon
as it has the result of the one before. Then more clients than the queue has places measure what
happens past saturation. `--soak N` sends N requests and reports the memory of the service.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
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
from admiral.config import load_config
from admiral.io.claims import read_claims

SETTINGS = click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE")


@click.command()
@click.argument("claims_path", metavar="CLAIMS", type=click.Path(path_type=Path))
@click.option("--kb", default="demo", help="Knowledge base.")
@click.option("--limit", default=64, help="Number of claims per measurement.")
@click.option("--clients", default="1,4,16,64", help="Numbers of clients.")
@click.option("--places", default=64, help="Places of the queue.")
@click.option("--past", default=96, help="Clients past saturation; 0 for none.")
@click.option("--soak", default=0, help="Requests of a soak.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file of the figures.")
@SETTINGS
def main(
    claims_path: Path,
    kb: str,
    limit: int,
    clients: str,
    places: int,
    past: int,
    soak: int,
    output: Path | None,
    assignments: tuple[str, ...],
) -> None:
    """Measure the service with the first claims of CLAIMS (JSON Lines)."""
    config = load_config(None, [f"kb={kb}", *assignments])
    claims = [claim.text for claim in islice(read_claims(claims_path), limit)]
    rows: list[dict[str, Any]] = []
    with Admiral.from_pretrained(config=config) as system:
        list(system.retrieve_many(claims[:4]))  # opens what is opened late
        rows.append(_many(system, claims))
        rows.append(_one_by_one(system, claims[: max(1, limit // 4)]))
    with _service(kb, places, assignments) as (url, process):
        with httpx.Client(base_url=url, timeout=600) as client:
            for claim in claims[:4]:
                client.post("/v1/retrieve", json={"claim": claim})
        for number in map(int, clients.split(",")):
            used = claims if number > 1 else claims[: max(1, limit // 4)]
            rows.append(_load(url, used, number))
        if past:
            rows.append({**_load(url, claims, past), "past_saturation": True})
        if soak:
            rows.append(_soak(url, process, claims, soak))
    for row in rows:
        click.echo(json.dumps(row))
    if output is not None:
        output.write_text(json.dumps(rows, indent=1) + "\n")


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
    return {"system": "retrieve", "claims_per_second": rate, **_percentiles(seconds)}


def _load(url: str, claims: Sequence[str], clients: int) -> dict[str, Any]:
    """Send each claim once, with so many clients at a time, and count the statuses."""
    remaining = iter(claims)
    lock = threading.Lock()
    seconds: list[float] = []
    statuses: Counter[int] = Counter()

    def work() -> None:
        with httpx.Client(base_url=url, timeout=600) as client:
            while True:
                with lock:
                    claim = next(remaining, None)
                if claim is None:
                    return
                started = time.perf_counter()
                status = client.post("/v1/retrieve", json={"claim": claim}).status_code
                with lock:
                    statuses[status] += 1
                    if status == httpx.codes.OK:
                        seconds.append(time.perf_counter() - started)

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        for future in [pool.submit(work) for _ in range(clients)]:
            future.result()
    total = time.perf_counter() - started
    return {
        "system": "service",
        "clients": clients,
        "claims_per_second": len(seconds) / total,
        **_percentiles(seconds),
        "statuses": dict(statuses),
    }


def _soak(
    url: str, process: psutil.Process, claims: Sequence[str], requests: int
) -> dict[str, Any]:
    """Send many requests with eight clients; return the resident memory after each tenth."""
    memory = []
    statuses: Counter[int] = Counter()
    repeated = cycle(claims)
    for _ in range(10):
        part = _load(url, list(islice(repeated, requests // 10)), 8)
        statuses.update(part["statuses"])
        memory.append(round(process.memory_info().rss / 1e6))
    return {"system": "soak", "statuses": dict(statuses), "resident_mb": memory}


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    if not seconds:
        return {}
    return {f"p{q}": round(float(np.percentile(seconds, q)), 3) for q in (50, 95, 99)}


@contextmanager
def _service(
    kb: str, places: int, assignments: Sequence[str]
) -> Iterator[tuple[str, psutil.Process]]:
    settings = [part for assignment in assignments for part in ("--set", assignment)]
    program = "from admiral.cli.main import run; run()"
    options = ["--kb", kb, "--port", "0", "--places", str(places), *settings]
    command = [sys.executable, "-c", program, "serve", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log = iter(process.stderr.readline, "")
        url = next(found[0] for line in log if (found := re.search(r"http://[\d.:]+", line)))
        # The log is read on, so that the service never waits for it.
        threading.Thread(target=lambda: list(log), daemon=True).start()
        try:
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
