"""All writers of the project, each with what is there before and what a reader sees of it."""

from __future__ import annotations

import http.server
import threading
from functools import partial
from pathlib import Path
from typing import Any

from admiral.download.addresses import RemoteFile
from admiral.download.fetch import fetch
from benchmarks import writers_cli, writers_kb, writers_library, writers_training
from benchmarks.writer import Writer, files_seen
from benchmarks.writers_kb import nothing


def serve() -> str:
    """Serve 300,000 bytes from a thread of this process; return their address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "300000")
            self.end_headers()
            self.wfile.write(bytes(range(250)) * 1200)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/file"


def download(folder: Path, url: str) -> None:
    """Fetch the file."""
    fetch(RemoteFile("file", url), folder / "file", attempts=1)


def writers() -> list[Writer]:
    """Return all writers; one of them fetches from a server that this starts."""
    return [
        *writers_kb.WRITERS,
        *writers_library.WRITERS,
        *writers_cli.WRITERS,
        *writers_training.WRITERS,
        Writer(
            "download",
            nothing,
            partial(download, url=serve()),
            partial(files_seen, names=["file"]),
        ),
    ]
