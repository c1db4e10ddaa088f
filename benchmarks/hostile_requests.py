"""Requests that a service on the internet gets: slow, broken and hostile ones.

Each function sends one to the address of a service, with choices by a generator of random numbers,
and returns the status of the answer, or what became of the connection.
"""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx

_PIECE = 40  # bytes
_SECONDS = 60


def slowly(url: str, generator: random.Random, claim: str) -> str:
    """Send a valid request in small pieces, and read the answer in small pieces, too."""
    body = json.dumps({"claim": claim}).encode()
    head = f"POST /v1/retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    head += "Content-Type: application/json\r\nConnection: close\r\n\r\n"
    request = head.encode() + body
    with _connect(url) as connection:
        connection.settimeout(5 * _SECONDS)
        for start in range(0, len(request), _PIECE):
            connection.sendall(request[start : start + _PIECE])
            time.sleep(generator.random() / 2)
        answer = b""
        while piece := connection.recv(200):
            answer += piece
            time.sleep(0.002)
    start_of_answer, _, content = answer.partition(b"\r\n\r\n")
    status = start_of_answer[9:12].decode("latin-1")
    if f"content-length: {len(content)}".encode() not in start_of_answer.lower():
        return f"{status or 'no answer'}, cut off"
    return status


def _broken(url: str, generator: random.Random) -> str:
    body = generator.choice([b"{", b"[]", b'{"claim": 7}', b'{"claim": ""}', b"\xff\xfe", b"null"])
    path = generator.choice(["/v1/retrieve", "/v1/prove", "/v1/graph", "/v1/nothing"])
    headers = {"Content-Type": "application/json"}
    response = httpx.post(f"{url}{path}", content=body, headers=headers, timeout=_SECONDS)
    return str(response.status_code)


def _foreign(url: str, generator: random.Random) -> str:
    headers = {"Host": f"{generator.getrandbits(40):x}.example"}
    method = generator.choice(["GET", "POST", f"M{generator.getrandbits(20):x}".upper()])
    response = httpx.request(method, f"{url}/healthz", headers=headers, timeout=_SECONDS)
    return str(response.status_code)


def _endless(url: str, generator: random.Random) -> str:
    chunks = (b"x" * 50_000 for _ in range(100))
    return str(httpx.post(f"{url}/v1/retrieve", content=chunks, timeout=_SECONDS).status_code)


def _connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=_SECONDS)


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
        httpx.Client(timeout=_SECONDS) as client,
        client.stream("POST", f"{url}/v1/retrieve/stream", json=body) as response,
    ):
        return str(response.status_code)  # without reading it


HOSTILE: list[tuple[str, Callable[[str, random.Random], str]]] = [
    ("broken", _broken),
    ("foreign host", _foreign),
    ("endless body", _endless),
    ("half a request", _half),
    ("noise", _noise),
    ("stream left", _left_stream),
]
