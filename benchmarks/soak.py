"""Hold `admiral serve` under valid, slow, broken and hostile requests while its KB changes.

    python -m benchmarks.soak --seconds 14400 --clients 24 --faults --fast

A third of the clients send valid requests, another third sends some piece by piece; a lost one, or
an answer other than 200 and 429, is listed. The others send broken and hostile ones. A document is
added every minute, so the service opens its knowledge base anew. With `--faults`, files stop
growing (as on a full disk), and the knowledge base is replaced. Memory is that of the service,
every ten seconds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import httpx
import psutil

from admiral.kb import KnowledgeBase, add, locate
from benchmarks.hostile_requests import HOSTILE, slowly
from benchmarks.serving import (
    SETTINGS,
    percentiles,
    retrieval,
    service,
    with_fast_settings,
)

_CLAIM = "{} was founded before {}."
_SAMPLE_SECONDS, _CHANGE_SECONDS, _FAULT_SECONDS = 10.0, 60.0, 15.0
_SHOWN = 20


class Soak:
    """Clients that send requests until the time is over, and what they have seen."""

    def __init__(self, url: str, titles: Sequence[str], seconds: float, share: float) -> None:
        self.statuses: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.wrong: list[str] = []
        self.answered: defaultdict[str, list[float]] = defaultdict(list)  # by 200, seconds
        self.faults: list[tuple[str, float, float]] = []  # name, from, until
        self.began = time.monotonic()
        self.end = self.began + seconds
        self._url, self._titles, self._share = url, titles, share
        self._lock = threading.Lock()

    def send_valid(self, number: int) -> None:
        """Send requests that have to be answered."""
        requests = mixed(self._claims(number), self._titles, self._share)
        with httpx.Client(base_url=self._url, timeout=300) as client:
            while time.monotonic() < self.end:
                request, started = next(requests), time.monotonic()
                try:
                    status = str(client.request(**request).status_code)
                except httpx.HTTPError as error:
                    status = type(error).__name__
                kind = "retrieve" if request["method"] == "POST" else "read"
                self._note(kind, status, started)

    def send_slowly(self, number: int) -> None:
        """Send requests that have to be answered, however slowly they come."""
        generator = random.Random(number)
        for claim in cycle(self._claims(number)):
            if (started := time.monotonic()) >= self.end:
                return
            try:
                status = slowly(self._url, generator, claim)
            except OSError as error:
                status = type(error).__name__
            self._note("slow", status, started)

    def send_hostile(self, number: int) -> None:
        """Send requests that have to be refused, or that their client gives up."""
        generator = random.Random(-number)
        while time.monotonic() < self.end:
            kind, send = generator.choice(HOSTILE)
            try:
                status = send(self._url, generator)
            except (httpx.HTTPError, OSError) as error:  # refused by closing the connection
                status = type(error).__name__
            with self._lock:
                self.statuses[kind][status] += 1
                if status.startswith("5"):
                    self.wrong.append(f"{status} {kind}")

    def inject(self, faults: dict[str, Callable[[], None]]) -> None:
        """Let faults happen one after the other, each several times if there is time."""
        rounds = max(1, round((self.end - self.began) / 600))
        pause = (self.end - time.monotonic()) / (len(faults) * rounds + 1)
        for number, (name, happen) in enumerate([*faults.items()] * rounds, 1):
            time.sleep(max(self.began + number * pause - time.monotonic(), 0))
            started = time.monotonic()
            with self._lock:  # known from its beginning
                self.faults.append((name, started, float("inf")))
            happen()
            with self._lock:
                self.faults[-1] = (name, started, time.monotonic())

    def _note(self, kind: str, status: str, started: float) -> None:
        seconds = time.monotonic() - started
        with self._lock:
            self.statuses[kind][status] += 1
            if status == "200":
                self.answered[kind].append(seconds)
            elif status != "429":
                at = round(started - self.began)
                self.wrong.append(f"{status} {kind}, sent after {at} s, answered in {seconds:.0f}")

    def _claims(self, number: int) -> list[str]:
        names = random.Random(number)
        return [_CLAIM.format(*names.sample(list(self._titles), 2)) for _ in range(200)]


def mixed(claims: Sequence[str], titles: Sequence[str], share: float) -> Iterator[dict[str, Any]]:
    """Yield requests without end; the same ones in every run."""
    generator = random.Random(0)
    while True:
        claim, title = generator.choice(claims), generator.choice(titles)
        if generator.random() < share:
            yield retrieval(claim)
            continue
        path, parameters = generator.choice(
            (
                ("/v1/search", {"q": claim}),
                ("/v1/titles", {"prefix": title[:3]}),
                (f"/v1/documents/{quote(title, safe='')}", {}),
            )
        )
        yield {"method": "GET", "url": path, "params": parameters}


def _fill_disk(process: psutil.Process) -> None:
    """Let no file of the service grow, as on a full disk: that of its log neither."""
    limits = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (0, limits[1]))
    time.sleep(_FAULT_SECONDS)
    with suppress(psutil.NoSuchProcess):
        process.rlimit(psutil.RLIMIT_FSIZE, limits)


def _replace_kb(kb: Path, backup: Path, changing: threading.Lock) -> None:
    """Restore the backup, as docs/knowledge-bases.md does."""
    restored, former = kb.with_name("restored"), kb.with_name("former")
    with changing:
        shutil.copytree(backup, restored)
        kb.rename(former)
        restored.rename(kb)
    shutil.rmtree(former)
    time.sleep(_FAULT_SECONDS)


def _change(kb: Path, end: float, changing: threading.Lock) -> None:
    """Add a document every minute."""
    number = 0
    while time.monotonic() + _CHANGE_SECONDS < end:
        time.sleep(_CHANGE_SECONDS)
        number += 1
        corpus = kb.with_name(f"added-{number}.jsonl")
        corpus.write_text(json.dumps({"title": f"Added {number}", "text": "It is new."}) + "\n")
        with changing:
            add(corpus, kb, progress=False)


def _sample(process: psutil.Process, soak: Soak, samples: list[dict[str, Any]]) -> None:
    while (now := time.monotonic()) < soak.end:
        time.sleep(min(_SAMPLE_SECONDS, soak.end - now))
        with suppress(psutil.Error):
            held = process.memory_info()
            samples.append(
                {
                    "seconds": round(time.monotonic() - soak.began),
                    # Without the files of the knowledge base, of which more and more is resident.
                    "mb": round((held.rss - held.shared) / 1e6, 1),
                    "files": process.num_fds(),
                    "threads": process.num_threads(),
                }
            )


def growth(megabytes: Sequence[float]) -> float:
    """Return by how much the last tenth is more than the first tenth after a third (medians)."""
    settled = megabytes[len(megabytes) // 3 :]
    few = max(1, len(megabytes) // 10)
    return round(statistics.median(settled[-few:]) / statistics.median(settled[:few]) - 1, 4)


@click.command()
@click.option("--kb", default="demo", help="Knowledge base; a copy of it is served and changed.")
@click.option("--seconds", default=600.0, help="Duration.")
@click.option("--clients", default=24, help="Number of clients; a third of them is hostile.")
@click.option("--places", default=16, help="Places of the queue.")
@click.option("--faults", "with_faults", is_flag=True, help="Let faults happen.")
@click.option("--retrieve-share", default=0.3, help="Share of the valid requests that retrieve.")
@click.option("--fast", is_flag=True, help="The settings of `admiral retrieve --fast`.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file of the figures.")
@SETTINGS
def main(
    kb: str,
    seconds: float,
    clients: int,
    places: int,
    with_faults: bool,
    retrieve_share: float,
    fast: bool,
    output: Path | None,
    assignments: tuple[str, ...],
) -> None:
    """Measure what a service does under all kinds of requests at once."""
    assignments = with_fast_settings(assignments) if fast else assignments
    with tempfile.TemporaryDirectory() as folder:
        served = Path(shutil.copytree(locate(kb), Path(folder, "kb")))
        backup = Path(shutil.copytree(served, Path(folder, "backup")))
        with KnowledgeBase.open(served) as opened:
            titles = list(opened.titles())
        with service(str(served), places, assignments) as (url, process):
            soak = Soak(url, titles, seconds, retrieve_share)
            samples: list[dict[str, Any]] = []
            changing = threading.Lock()
            senders = (soak.send_valid, soak.send_slowly, soak.send_hostile)
            threads = [
                threading.Thread(target=senders[n % len(senders)], args=(n,))
                for n in range(clients)
            ]
            threads += [
                threading.Thread(target=_change, args=(served, soak.end, changing)),
                threading.Thread(target=_sample, args=(process, soak, samples)),
            ]
            if with_faults:
                faults = {
                    "disk full": partial(_fill_disk, process),
                    "kb replaced": partial(_replace_kb, served, backup, changing),
                }
                threads.append(threading.Thread(target=soak.inject, args=(faults,)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            ready = httpx.get(f"{url}/readyz", timeout=60).status_code
    record: dict[str, Any] = {
        "seconds": seconds,
        "clients": clients,
        "places": places,
        "processors": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "statuses": {name: dict(counts) for name, counts in soak.statuses.items()},
        "lost_or_wrong": len(soak.wrong),
        "wrong": soak.wrong[:_SHOWN],
        "latency": {kind: percentiles(each) for kind, each in soak.answered.items()},
        "growth_after_a_third": growth([sample["mb"] for sample in samples]),
        "ready_at_the_end": ready,
        "faults": [
            {"name": name, "from": round(first - soak.began), "until": round(last - soak.began)}
            for name, first, last in soak.faults
        ],
        "samples": samples,
    }
    if output is not None:
        output.write_text(json.dumps(record) + "\n")
    shown = {name: v for name, v in record.items() if name != "samples"}
    click.echo(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()
