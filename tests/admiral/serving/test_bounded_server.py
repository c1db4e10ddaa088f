"""More connections than open files are allowed: they are closed, and the log stays short."""

import logging
import os
import re
import socket
import subprocess
import sys
import time

import httpx
import pytest

from admiral.serving.application import FewEqualLines, accepted_at_once, timed_connections
from tests.admiral.serving.live_service import ROOT, listening
from tests.admiral.serving.test_access import application

MOST = 5
SERVER = """
import logging, resource, sys
logging.basicConfig(level=logging.INFO)
resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
from admiral.serving.application import serve_application
from tests.admiral.serving.test_access import application
serve_application(application(None), "127.0.0.1", int(sys.argv[1]), 5.0)
"""

COMMAND = (sys.executable, "-c", SERVER)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def server(tmp_path):
    """Run a server that may open 160 files; the value is its address and the path of its log."""
    log = tmp_path / "log"
    with (
        log.open("w") as file,
        subprocess.Popen([*COMMAND, "0"], stderr=file, env=ENVIRONMENT) as process,
    ):
        try:
            while not (found := re.search(r"running on http://([\d.]+):(\d+)", log.read_text())):
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield (found[1], int(found[2])), log
        finally:
            process.kill()


def test_a_flood_of_connections_neither_fills_the_log_nor_stays(server):
    """Before, asyncio wrote 70,000 lines a second of connections that it could not accept."""
    address, log = server
    held = []
    for _ in range(400):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(address)
        held.append(connection)
    time.sleep(2)
    for connection in held:
        connection.close()
    end = time.monotonic() + 60
    url = f"http://{address[0]}:{address[1]}/healthz"
    while time.monotonic() < end:
        try:
            assert httpx.get(url, timeout=10).status_code == 200
            break
        except httpx.HTTPError:
            time.sleep(0.2)
    else:
        pytest.fail("it never answers again")
    assert len(log.read_text().splitlines()) < 100


def test_a_log_on_a_full_disk_stops_no_answer():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        open("/dev/full", "w") as full,
        subprocess.Popen([*COMMAND, str(port)], stderr=full, env=ENVIRONMENT) as process,
    ):
        try:
            answers = 0
            while answers < 5:
                assert process.poll() is None
                try:
                    answers += httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
                except httpx.ConnectError:
                    time.sleep(0.1)
        finally:
            process.kill()


def test_connections_over_the_limit_are_closed_at_once():
    connections = timed_connections(60.0, MOST)
    with listening(application(None), lifespan="off", http=connections) as url:
        host, port = url.removeprefix("http://").split(":")
        held = [socket.create_connection((host, int(port))) for _ in range(MOST)]
        try:
            time.sleep(0.3)
            with socket.create_connection((host, int(port)), timeout=5) as further:
                assert further.recv(1) == b""
        finally:
            for connection in held:
                connection.close()
        time.sleep(0.3)
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_what_is_accepted_at_once_leaves_room():
    assert [accepted_at_once(files) for files in (64, 1024, 10**6)] == [8, 64, 2048]


def test_few_equal_lines_are_logged(caplog, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    logger = logging.getLogger("a test of lines")
    logger.addFilter(FewEqualLines(few=2, seconds=60.0))
    for number in range(50):
        logger.warning("no room for %d", number)
        logger.warning(f"cannot accept\nsocket {number}")
    assert [record.getMessage() for record in caplog.records] == [
        *("no room for 0", "cannot accept\nsocket 0", "no room for 1", "cannot accept\nsocket 1"),
    ]
    caplog.clear()
    now[0] += 61
    for number in range(50):
        logger.warning("no room for %d", number)
    assert [record.getMessage() for record in caplog.records] == [
        "no room for 0 (96 lines like the last ones were left out)",
        "no room for 1",
    ]
