"""Downloads from a local server that breaks connections and gives wrong answers."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.cli.data import Download
from admiral.download.fetch import RemoteFile, data_set, fetch
from admiral.errors import AdmiralError

CONTENT = hashlib.shake_256(b"a file").digest(300_000)


@dataclass
class Server:
    """Behaviour of the server, and the Range header of each request.

    Attributes
    ----------
    cuts
        Number of bytes of the body after which the connection breaks, one for each request.
    answers
        Error status codes of the first requests.
    moved
        Address that ``/moved`` redirects to.
    """

    cuts: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    ranges: bool = True
    length: bool = True
    moved: str = "/file"
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


def handler(server):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

        def do_GET(self):
            wanted = self.headers.get("Range")
            server.asked.append(wanted)
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", server.moved)
                self.end_headers()
                return
            if server.answers:
                self.send_error(server.answers.pop(0))
                return
            start = 0
            if wanted and server.ranges:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            body = CONTENT[start:]
            if start:
                self.send_response(206)
                end = len(CONTENT) - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{len(CONTENT)}")
            else:
                self.send_response(200)
            self.send_header("ETag", '"1"')
            if server.length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = server.cuts.pop(0) if server.cuts else len(body)
            self.wfile.write(body[:cut])
            self.wfile.flush()
            if cut < len(body):
                self.connection.shutdown(socket.SHUT_RDWR)

    return Handler


class Quiet(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Print nothing when a client disconnects."""


@pytest.fixture
def server():
    state = Server()
    http = Quiet(("127.0.0.1", 0), handler(state))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}/file"
    yield state
    http.shutdown()
    thread.join()
    http.server_close()


def get(server, target, attempts=3, **known):
    return fetch(RemoteFile(url=server.url, **known), target, attempts=attempts, wait=0.001)


MD5 = hashlib.md5(CONTENT).hexdigest()


def test_existing_file_is_not_downloaded_again(server, tmp_path):
    target = tmp_path / "new" / "file"
    assert get(server, target, md5=MD5, size=len(CONTENT))
    assert target.read_bytes() == CONTENT
    assert not get(server, target, md5=MD5)
    assert server.asked == [None]
    assert [p.name for p in target.parent.iterdir() if p.suffix != ".lock"] == ["file"]
    with pytest.raises(AdmiralError, match="exists, but has the MD5 checksum"):
        get(server, target, md5="0" * 32)
    assert target.read_bytes() == CONTENT


@given(st.lists(st.integers(0, 120_000), max_size=6))
@settings(max_examples=20)
def test_broken_connections_are_resumed(server, tmp_path_factory, cuts):
    server.cuts, server.asked = list(cuts), []
    target = tmp_path_factory.mktemp("fetch") / "file"
    assert get(server, target, attempts=7, md5=MD5)
    assert target.read_bytes() == CONTENT
    places = [int(asked[6:-1]) for asked in server.asked if asked]
    assert places == sorted(places)  # never backwards


def test_later_call_resumes(server, tmp_path):
    server.cuts = [100_000, 0, 0, 0]
    target = tmp_path / "file"
    with pytest.raises(AdmiralError, match=r"peer closed connection .* Run the same command again"):
        get(server, target)
    assert not target.exists()
    assert get(server, target)
    assert server.asked[-1] == "bytes=100000-"
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("length", [True, False])
def test_server_without_ranges_restarts(server, tmp_path, length):
    (tmp_path / "file.partial").write_bytes(b"x" * 1000)
    server.ranges, server.length = False, length
    assert get(server, tmp_path / "file", md5=MD5)
    assert server.asked == ["bytes=1000-"]


def test_download_with_a_wrong_checksum_is_deleted(server, tmp_path):
    with pytest.raises(AdmiralError, match=f"checksum {MD5}, not the published {'0' * 32}"):
        get(server, tmp_path / "file", md5="0" * 32)
    assert not list(tmp_path.glob("file")) + list(tmp_path.glob("*.partial"))


def test_only_temporary_errors_are_retried(server, tmp_path):
    server.answers = [503, 429]
    assert get(server, tmp_path / "file", md5=MD5)
    server.answers = [503] * 3
    with pytest.raises(AdmiralError, match="503 Service Unavailable"):
        get(server, tmp_path / "other")
    server.answers, server.asked = [404], []
    with pytest.raises(AdmiralError, match=r"404 Not Found.*the file may have moved"):
        get(server, tmp_path / "other")
    assert len(server.asked) == 1


def test_redirections_are_followed(server, tmp_path):
    server.url = server.url.replace("/file", "/moved")
    (tmp_path / "file.partial").write_bytes(CONTENT[:10])
    assert get(server, tmp_path / "file", md5=MD5)
    assert server.asked == ["bytes=10-", "bytes=10-"]


def test_unreachable_server_is_an_error(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        source = RemoteFile(url=f"http://127.0.0.1:{port}/file")
        began = time.monotonic()
        with pytest.raises(AdmiralError, match=r"This machine may be offline"):
            fetch(source, tmp_path / "file", attempts=3, wait=0.05)
    assert time.monotonic() - began >= 0.05 + 0.1  # the waits double


def test_data_set_addresses_are_valid():
    for name in get_args(Download.model_fields["name"].annotation):
        found = data_set(name)
        names = [source.name for source in found.files]
        assert len(set(names)) == len(names)
        assert found.page.startswith("https://")
        for source in found.files:
            assert source.url.startswith("https://")
            assert source.md5 is None or len(bytes.fromhex(source.md5)) == 16


@pytest.mark.parametrize(
    "url", ["x/file", "/file", "http://[::1/file", "http://[::1", "http://a:b/"]
)
def test_invalid_addresses_are_rejected(server, tmp_path, url):
    with pytest.raises(AdmiralError, match=r"file: .*--base|b/: .*--base|1: .*--base"):
        fetch(RemoteFile(url=url), tmp_path / "file")
    if url.startswith("http:"):
        server.moved = url
        moved = RemoteFile(url=server.url.replace("/file", "/moved"))
        with pytest.raises(AdmiralError, match="--base"):
            fetch(moved, tmp_path / "file", attempts=1)
    assert not (tmp_path / "file").exists()
