"""A site on this machine that answers as badly as sites of the web do."""

from __future__ import annotations

import gzip
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """An answer: status, headers, body, and seconds of waiting before each piece of it."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    head_seconds: float = 0.0
    pieces: int = 1
    length: int | None = None


def page(text: str, title: str = "A page") -> Answer:
    body = f"<html><head><title>{title}</title></head><body><article><p>{text}</p></article>"
    return Answer(f"{body}</body></html>".encode())


def moved(to: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": to})


def zipped(body: bytes, encoding: str = "gzip") -> Answer:
    data = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    return Answer(data, headers={"Content-Encoding": encoding})


def bomb(megabytes: int) -> Answer:
    """Return a page that is compressed a thousandfold."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    block = bytes(2**20)
    data = b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])
    return Answer(data, headers={"Content-Encoding": "gzip"})


@dataclass
class Site:
    """The answers of a site by path, and the requests that it got."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def pages(self) -> list[str]:
        """Return the paths of the requests, without those for robots.txt."""
        return [path for path in self.asked if path != "/robots.txt"]


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.times.append(time.monotonic())
            site.headers.append({key.lower(): value for key, value in self.headers.items()})
            answer = site.answers.get(self.path, Answer(b"no", status=404))
            with suppress(OSError):
                self._send(answer)

        def _send(self, answer: Answer) -> None:
            head = [f"HTTP/1.1 {answer.status} X", f"Content-Type: {answer.kind}"]
            length = len(answer.body) if answer.length is None else answer.length
            head += [f"Content-Length: {length}", "Connection: close"]
            head += [f"{key}: {value}" for key, value in answer.headers.items()]
            self._slowly("\r\n".join([*head, "", ""]).encode(), answer.head_seconds, 40)
            self._slowly(answer.body, answer.seconds, answer.pieces)

        def _slowly(self, data: bytes, seconds: float, pieces: int) -> None:
            size = -(-len(data) // pieces) if seconds else len(data)
            for start in range(0, len(data), max(size, 1)):
                time.sleep(seconds)
                self.wfile.write(data[start : start + size])
                self.wfile.flush()

    return Handler


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
