"""Replicas of Ray Serve: one ends while requests are in flight, or Ray's head does."""

import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress

import httpx
import psutil
import pytest

from admiral.errors import AdmiralError
from admiral.serving.ray_replicas import load_serve
from benchmarks.service_faults import workers
from tests.admiral.serving.live_service import EMMY

REPLICAS = 2
CLIENTS = 8
SETTINGS = [
    *("--hops", "2", "--reranker", "bm25", "--judge", "lexical", "--threads", "1"),
    *("--set", "generator=false", "--set", "title_beams=0", "--set", "verifier="),
]


@contextmanager
def serving(command, environment):
    """Start the service and yield its address, its process and the lines of its log."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Ray's imports
        try:
            load_serve()
        except AdmiralError as error:
            pytest.skip(str(error))
    options = ["--engine", "ray", "--replicas", str(REPLICAS), "--port", "0", *SETTINGS]
    full = [*command, "serve", *options]
    with subprocess.Popen(full, env=environment, stderr=subprocess.PIPE, text=True) as process:
        log = iter(process.stderr.readline, "")
        url = next(found[0] for line in log if (found := re.search(r"http://[\d.:]+", line)))
        lines = []
        reader = threading.Thread(target=lines.extend, args=(log,), daemon=True)
        reader.start()
        try:
            yield url, psutil.Process(process.pid), lines
        finally:
            process.send_signal(signal.SIGTERM)
            reader.join()


def open_replicas(url):
    """Return the names of the replicas that have opened the knowledge base."""
    metrics = httpx.get(f"{url}/metrics", timeout=60).text
    return re.findall(r'^admiral_queue_places\{kb="demo",replica="(\w+)"\}', metrics, re.MULTILINE)


@pytest.mark.slow
def test_no_accepted_request_is_lost_with_a_replica(environment, command):
    statuses = []
    stopping = threading.Event()

    def ask():
        with httpx.Client(base_url=url, timeout=120) as client:
            while not stopping.is_set():
                statuses.append(client.post("/v1/retrieve", json={"claim": EMMY}).status_code)

    with serving(command, environment) as (url, process, _):
        assert len(workers(process)) == REPLICAS
        threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while len(statuses) < 2 * CLIENTS:
            time.sleep(0.05)
        killed = workers(process)[0]
        killed.kill()
        answered = len(statuses)
        end = time.monotonic() + 120
        while len(open_replicas(url)) < REPLICAS or len(statuses) < answered + 4 * CLIENTS:
            assert time.monotonic() < end
            time.sleep(0.5)
        stopping.set()
        for thread in threads:
            thread.join()
        assert killed not in workers(process)
    print(f"{len(statuses)} requests, {len(statuses) - answered} after the end of a replica")
    assert set(statuses) == {200}


@pytest.mark.slow
def test_a_service_without_rays_head_completes_its_requests_and_ends(environment, command):
    statuses = []
    with (
        serving(command, environment) as (url, process, lines),
        httpx.Client(base_url=url, timeout=120) as client,
    ):

        def ask():
            statuses.append(client.post("/v1/retrieve", json={"claim": EMMY}).status_code)

        ask()
        next(child for child in process.children() if child.name() == "gcs_server").kill()
        with suppress(httpx.TransportError):
            while True:
                ask()
        assert process.wait(120) == 1
    assert set(statuses) == {200}
    assert sum(line.startswith("error: --engine ray: Ray's head") for line in lines) == 1
    assert not any("Traceback" in line for line in lines)


def test_a_missing_package_is_named(monkeypatch):
    for module in ("ray", "ray.serve"):  # the latter was imported where Ray is installed
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(AdmiralError, match=r"-m pip install 'ray\[serve\]<3,>=2.60'"):
        load_serve()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replicas", "2"], "--replicas needs --engine ray"),
        (
            ["--engine", "ray", "--replicas", "2", "--max-replicas", "1"],
            "--max-replicas 1 is less than --replicas 2",
        ),
    ],
)
def test_bad_options_of_replicas_are_named(admiral, arguments, message):
    done = admiral("serve", *arguments)
    assert done.returncode != 0
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_missing_knowledge_base_is_named(admiral):
    pytest.importorskip("ray")
    done = admiral("serve", "--engine", "ray", "--kb", "missing")
    assert done.returncode == 1
    assert "missing" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
