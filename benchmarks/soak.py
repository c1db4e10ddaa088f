"""Hold `admiral serve` under valid, slow, broken and hostile requests while its KB changes.

    python -m benchmarks.soak --seconds 14400 --clients 24 --fast --output soak.json

Half of the clients send valid requests; a lost one, or an answer other than 200 and 429, is listed.
The others send what a service on the internet gets: half a request, endless bodies, made-up methods
and hosts, bytes at random, and streams that are left. A document is added every minute, so the
service opens its knowledge base anew. Memory is that of the process itself, every ten seconds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import httpx
import psutil

from admiral.kb import KnowledgeBase, add, locate
from benchmarks.serving import (
    SETTINGS,
    mixed,
    own_megabytes,
    percentiles,
    service,
    with_fast_settings,
)

_CLAIM = "{} was founded before {}."
_SAMPLE_SECONDS, _CHANGE_SECONDS = 10.0, 60.0
_SHOWN = 20


class Soak:
    """Clients that send requests until the time is over, and what they have seen."""

    def __init__(self, url: str, titles: Sequence[str], seconds: float, share: float) -> None:
        self.statuses: dict[str, Counter[str]] = {"valid": Counter(), "hostile": Counter()}
        self.wrong: list[str] = []
        self.latencies: list[float] = []
        self.end = time.monotonic() + seconds
        self._url, self._titles, self._share = url, titles, share
        self._lock = threading.Lock()

    def send_valid(self, number: int) -> None:
        """Send requests that have to be answered."""
        names = random.Random(number)
        claims = [_CLAIM.format(*names.sample(list(self._titles), 2)) for _ in range(200)]
        names.shuffle(claims)
        requests = mixed(claims, self._titles, self._share)
        with httpx.Client(base_url=self._url, timeout=300) as client:
            while time.monotonic() < self.end:
                request, started = next(requests), time.perf_counter()
                try:
                    status = str(client.request(**request).status_code)
                except httpx.HTTPError as error:
                    status = type(error).__name__
                seconds = time.perf_counter() - started
                with self._lock:
                    self.statuses["valid"][status] += 1
                    if status == "200" and request["method"] == "POST":
                        self.latencies.append(seconds)
                    if status not in ("200", "429"):
                        self.wrong.append(f"{status} {request['method']} {request['url']}")

    def send_hostile(self, number: int) -> None:
        """Send requests that have to be refused, or that their client gives up."""
        generator = random.Random(-number)
        while time.monotonic() < self.end:
            kind, send = generator.choice(_HOSTILE)
            try:
                status = send(self._url, generator)
            except (httpx.HTTPError, OSError) as error:  # refused by closing the connection
                status = type(error).__name__
            with self._lock:
                self.statuses["hostile"][f"{kind}: {status}"] += 1
                if status.startswith("5"):
                    self.wrong.append(f"{status} {kind}")


def _broken(url: str, generator: random.Random) -> str:
    body = generator.choice([b"{", b"[]", b'{"claim": 7}', b'{"claim": ""}', b"\xff\xfe", b"null"])
    path = generator.choice(["/v1/retrieve", "/v1/prove", "/v1/graph", "/v1/nothing"])
    headers = {"Content-Type": "application/json"}
    return str(httpx.post(f"{url}{path}", content=body, headers=headers, timeout=60).status_code)


def _foreign(url: str, generator: random.Random) -> str:
    headers = {"Host": f"{generator.getrandbits(40):x}.example"}
    method = generator.choice(["GET", "POST", f"M{generator.getrandbits(20):x}".upper()])
    return str(httpx.request(method, f"{url}/healthz", headers=headers, timeout=60).status_code)


def _endless(url: str, generator: random.Random) -> str:
    chunks = (b"x" * 50_000 for _ in range(100))
    return str(httpx.post(f"{url}/v1/retrieve", content=chunks, timeout=60).status_code)


def _connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def _half(url: str, generator: random.Random) -> str:
    text = b"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{"
    with _connect(url) as connection:
        connection.sendall(text[: generator.randint(1, len(text))])
        time.sleep(generator.random() * 2)
    return "left"


def _noise(url: str, generator: random.Random) -> str:
    with _connect(url) as connection:
        connection.sendall(generator.randbytes(generator.randint(1, 5000)))
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(100)[9:12].decode("latin-1") or "closed"


def _left_stream(url: str, generator: random.Random) -> str:
    body = {"claim": f"Nobody founded {generator.getrandbits(40):x}."}
    with (
        httpx.Client(timeout=60) as client,
        client.stream("POST", f"{url}/v1/retrieve/stream", json=body) as response,
    ):
        return str(response.status_code)  # without reading it


_HOSTILE: list[tuple[str, Callable[[str, random.Random], str]]] = [
    ("broken", _broken),
    ("foreign host", _foreign),
    ("endless body", _endless),
    ("half a request", _half),
    ("noise", _noise),
    ("stream left", _left_stream),
]


def _change(kb: Path, end: float) -> None:
    """Add a document every minute."""
    number = 0
    while time.monotonic() + _CHANGE_SECONDS < end:
        time.sleep(_CHANGE_SECONDS)
        number += 1
        corpus = kb.with_name(f"added-{number}.jsonl")
        corpus.write_text(json.dumps({"title": f"Added {number}", "text": "It is new."}) + "\n")
        add(corpus, kb, progress=False)


def _sample(process: psutil.Process, end: float, samples: list[dict[str, float]]) -> None:
    began = time.monotonic()
    while time.monotonic() < end:
        time.sleep(min(_SAMPLE_SECONDS, max(end - time.monotonic(), 0)))
        with suppress(psutil.Error):
            samples.append(
                {
                    "seconds": round(time.monotonic() - began),
                    "mb": round(own_megabytes(process), 1),
                    "files": process.num_fds(),
                    "threads": process.num_threads(),
                }
            )


@click.command()
@click.option("--kb", default="demo", help="Knowledge base; a copy of it is served and changed.")
@click.option("--seconds", default=600.0, help="Duration.")
@click.option("--clients", default=24, help="Number of clients; half of them are hostile.")
@click.option("--retrieve-share", default=0.3, help="Share of the valid requests that retrieve.")
@click.option("--fast", is_flag=True, help="The settings of `admiral retrieve --fast`.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file of the figures.")
@SETTINGS
def main(
    kb: str,
    seconds: float,
    clients: int,
    retrieve_share: float,
    fast: bool,
    output: Path | None,
    assignments: tuple[str, ...],
) -> None:
    """Measure what a service does under all kinds of requests at once."""
    assignments = with_fast_settings(assignments) if fast else assignments
    with tempfile.TemporaryDirectory() as folder:
        served = Path(shutil.copytree(locate(kb), Path(folder, "kb")))
        with KnowledgeBase.open(served) as opened:
            titles = list(opened.titles())
        with service(str(served), 64, assignments) as (url, process):
            soak = Soak(url, titles, seconds, retrieve_share)
            samples: list[dict[str, float]] = []
            threads = [
                threading.Thread(
                    target=(soak.send_hostile if n % 2 else soak.send_valid), args=(n,)
                )
                for n in range(clients)
            ]
            threads += [
                threading.Thread(target=_change, args=(served, soak.end)),
                threading.Thread(target=_sample, args=(process, soak.end, samples)),
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            ready = httpx.get(f"{url}/readyz", timeout=60).status_code
    settled = samples[len(samples) // 3 :]
    record: dict[str, Any] = {
        "seconds": seconds,
        "clients": clients,
        "processors": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "statuses": {name: dict(counts) for name, counts in soak.statuses.items()},
        "lost_or_wrong": len(soak.wrong),
        "wrong": soak.wrong[:_SHOWN],
        "retrieval": percentiles(soak.latencies),
        "growth_after_a_third": round(settled[-1]["mb"] / settled[0]["mb"] - 1, 4),
        "ready_at_the_end": ready,
        "samples": samples,
    }
    if output is not None:
        output.write_text(json.dumps(record, indent=1) + "\n")
    click.echo(json.dumps({name: v for name, v in record.items() if name != "samples"}, indent=1))


if __name__ == "__main__":
    main()
