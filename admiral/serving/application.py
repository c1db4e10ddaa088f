"""The FastAPI application of `admiral serve`, and the server that runs it.

uvicorn accepts as many connections, and writes as long a log, as the machine bears.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

import admiral
from admiral.serving import document_uploads, page_audits, retrieval_routes
from admiral.serving.access import AccessMiddleware, RequestMetrics
from admiral.serving.document_uploads import Uploads
from admiral.serving.page_audits import PageAudits
from admiral.serving.request_models import PROBLEM_RESPONSE, handle_problems
from admiral.serving.service import Service


def create_app(
    service: Service,
    api_keys: Sequence[bytes] = (),
    hosts: Collection[str] | None = None,
    audits: PageAudits | None = None,
    uploads: Uploads | None = None,
) -> FastAPI:
    """Return the application; it closes what it is given when it shuts down.

    `service`: the open knowledge bases. `api_keys`: keys of which each request must give one; none
    for no check. `hosts`: as for `AccessMiddleware`. `audits`: audits the pages that are sent; None
    to refuse them. `uploads`: makes knowledge bases of files; None to refuse them.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for opened in (audits, uploads):
            if opened is not None:
                await run_in_threadpool(opened.close)
        await run_in_threadpool(service.close)

    app = FastAPI(
        title="AdMIRaL",
        version=admiral.__version__,
        description="Multi-hop retrieval of documents and evidence that verify claims.",
        lifespan=lifespan,
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        responses={"4XX": PROBLEM_RESPONSE, "5XX": PROBLEM_RESPONSE},
    )
    app.state.service, app.state.audits, app.state.uploads = service, audits, uploads
    metrics = RequestMetrics(service)
    for router in (
        retrieval_routes.router,
        retrieval_routes.citations,
        page_audits.router,
        retrieval_routes.documents,
        document_uploads.router,
        retrieval_routes.health,
        page_audits.pages,
    ):
        app.include_router(router)

    @app.get("/metrics", tags=["health"], response_class=PlainTextResponse)
    def read_metrics() -> Response:
        """Return the metrics of the service in the format of Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    handle_problems(app)
    app.add_middleware(
        AccessMiddleware,
        api_keys=api_keys,
        limits=service.limits,
        metrics=metrics,
        hosts=hosts,
    )
    return app


# File descriptors that connections leave to knowledge bases, models and logs.
_RESERVED_FILES = 64
_MOST_AT_ONCE = 2048
# What asyncio and uvicorn say of connections, not of requests.
_LOGGERS = ("asyncio", "uvicorn.error")


def serve_application(app: ASGIApp, host: str, port: int, read_seconds: float) -> None:
    """Answer requests until the process is asked to end.

    `read_seconds`: time until the headers of the first request of a connection have to be there.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    at_once = accepted_at_once(files)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(FewEqualLines())
    uvicorn.run(
        app,
        host=host,
        port=port,
        # The middleware logs requests; this log would hold titles and words of queries.
        access_log=False,
        lifespan="on",
        http=timed_connections(read_seconds, max(files - _RESERVED_FILES - 3 * at_once, 1)),
        backlog=at_once,
    )


def accepted_at_once(files: int) -> int:
    """Return how many connections may be accepted at once, given the limit of open files.

    asyncio accepts as many as wait, up to this number (uvicorn's ``backlog``), and those of two
    more turns before a connection that is too much is closed. At the limit of open files, it would
    log an error for each of them without a pause.
    """
    return min(max(files // 16, 8), _MOST_AT_ONCE)


def timed_connections(seconds: float, most: int) -> type[asyncio.Protocol]:
    """Return a class of connections for uvicorn, which itself waits for headers without end.

    Once a request is complete, uvicorn closes a connection that remains idle.

    `seconds`: time until the headers of the first request have to be there. `most`: connections at
    a time; further ones are closed at once.
    """
    connected = 0

    class TimedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            nonlocal connected
            connected += 1
            super().connection_made(transport)
            if connected > most:
                transport.close()
            self.loop.call_later(seconds, self._close_if_idle)

        def connection_lost(self, error: Exception | None) -> None:
            nonlocal connected
            connected -= 1
            super().connection_lost(error)

        def _close_if_idle(self) -> None:
            if self.cycle is None:
                self.transport.close()

    return TimedConnection


class FewEqualLines(logging.Filter):
    """Let a few lines with the same message pass in each period; the next one counts the others.

    `few`: lines of a message in a period. `seconds`: length of a period.
    """

    def __init__(self, few: int = 5, seconds: float = 60.0) -> None:
        super().__init__()
        self._few, self._seconds = few, seconds
        self._counts: Counter[str] = Counter()
        self._end = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is to be logged."""
        # Not the arguments, which may be those of a client.
        message = str(record.msg).partition("\n")[0]
        now = time.monotonic()
        if now >= self._end:
            left_out = sum(max(count - self._few, 0) for count in self._counts.values())
            if left_out:
                record.msg = f"{record.msg} ({left_out:,} lines like the last ones were left out)"
            self._counts.clear()
            self._end = now + self._seconds
        self._counts[message] += 1
        return self._counts[message] <= self._few
