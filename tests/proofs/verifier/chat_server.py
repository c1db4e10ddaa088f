"""A local HTTP server that speaks the protocol of chat completions, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LABELS = ("entailment", "neutral", "contradiction")


@dataclass
class Response:
    """What the server sends: a status and a body, after a pause."""

    status: int = 200
    body: str = ""
    kind: str = "application/json"
    pause: float = 0.0
    breaks: bool = False


@dataclass
class ChatServer:
    """A server that answers each request by a function of its body."""

    answer: Callable[[dict[str, Any]], Response]
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    address: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self):
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.requests.append(request)
                owner.keys.append(self.headers["Authorization"])
                response = owner.answer(request)
                owner.stopped.wait(response.pause)
                content = response.body.encode("utf-8")
                try:
                    self.send_response(response.status)
                    self.send_header("Content-Type", response.kind)
                    self.send_header("retry-after-ms", "1")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content[: len(content) // 2] if response.breaks else content)
                except OSError:
                    pass  # the client waits no longer

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.address = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield self
        finally:
            self.stopped.set()
            server.shutdown()
            thread.join()
            server.server_close()


def question(request):
    """Return the claim and the evidence of a request."""
    quoted = json.loads(request["messages"][-1]["content"])
    return quoted


def completion(text, finish="stop"):
    """Return a chat completion with a text."""
    record = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
    return Response(body=json.dumps(record))


def verdict(count, label="entailment", **fields):
    """Return an answer that gives all sentences and the whole one label."""
    items = [{"number": number, "label": label} for number in range(1, count + 1)]
    shares = {name: 0.8 if name == label else 0.1 for name in LABELS}
    return json.dumps({"sentences": items, "label": label, "probabilities": shares} | fields)


def good(request):
    """Answer a request as it asks."""
    return completion(verdict(len(question(request)["evidence"])))


def failure(status, message="it failed"):
    """Return an error of the server."""
    return Response(status, json.dumps({"error": {"message": message}}))
