"""What `benchmarks.serving` counts."""

from __future__ import annotations

import threading

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from benchmarks.serving import _load
from tests.admiral.serving.live_service import listening


def test_each_claim_is_sent_once_and_refusals_are_counted_apart() -> None:
    claims: list[str] = []
    lock = threading.Lock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        claim = (await Request(scope, receive).json())["claim"]
        with lock:
            claims.append(claim)
        await Response(status_code=429 if claim == "full" else 200)(scope, receive, send)

    with listening(app) as url:
        row = _load(url, ["a", "b", "full", "c", "full"], 2)
    assert sorted(claims) == ["a", "b", "c", "full", "full"]
    assert row["statuses"] == {200: 3, 429: 2}
    assert row["clients"] == 2
    assert 0 < row["p50"] <= row["p99"]
    assert row["claims_per_second"] > 0
