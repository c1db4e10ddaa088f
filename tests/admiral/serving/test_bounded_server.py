"""More connections than open files are allowed: they are closed, and the log stays short."""

import socket
import time

import httpx

from admiral.serving.application import accepted_at_once, timed_connections
from tests.admiral.serving.live_service import listening
from tests.admiral.serving.test_access import application

MOST = 5


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
